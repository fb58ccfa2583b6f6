#include "encore/ir/ops/op.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <type_traits>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"

namespace encore {
namespace {

std::vector<DType> Select(bool (*predicate)(DType)) {
  std::vector<DType> selected;
  std::copy_if(AllDTypes().begin(), AllDTypes().end(),
               std::back_inserter(selected), predicate);
  return selected;
}

// Floats without a zero are scales, which are only moved and converted.
bool HasArithmetic(DType dtype) {
  return IsFloat(dtype) && FormatOf(dtype).has_zero();
}

// The sets of the column `dtypes`, under the names it uses.
struct DTypeSets {
  const std::vector<DType> kAny = Select([](DType) { return true; });
  const std::vector<DType> kNumeric =
      Select([](DType d) { return IsInteger(d) || HasArithmetic(d); });
  const std::vector<DType> kFloats = Select(HasArithmetic);
  const std::vector<DType> kIntegers = Select(IsInteger);
  const std::vector<DType> kSigned =
      Select([](DType d) { return IsSigned(d) || HasArithmetic(d); });
  const std::vector<DType> kBits =
      Select([](DType d) { return d == DType::kBool || IsInteger(d); });
  const std::vector<DType> kOrdered = Select(
      [](DType d) { return IsFloat(d) ? HasArithmetic(d) : !IsString(d); });
  const std::vector<DType> kScalars =
      Select([](DType d) { return !IsString(d); });
  const std::vector<DType> kBool = {DType::kBool};
  const std::vector<DType> kStrings = Select(IsString);
};

int BodiesOf(Op op) {
  switch (op) {
    case Op::kIf:
    case Op::kWhile:
      return 2;
    case Op::kLoop:
    case Op::kScan:
      return 1;
    default:
      return 0;
  }
}

std::vector<OpInfo> MakeTable() {
  static const DTypeSets sets;
  using enum OpLevel;
  std::vector<OpInfo> table = {
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  {Op::k##Kind,                                                            \
   #Kind,                                                                  \
   mnemonic,                                                               \
   level,                                                                  \
   signature,                                                              \
   #dtypes,                                                                \
   sets.dtypes,                                                            \
   AttrsIndex::k##Attrs,                                                   \
   traits,                                                                 \
   summary,                                                                \
   BodiesOf(Op::k##Kind)},
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
  };
  return table;
}

TypeSlot ParseSlot(std::string_view text) {
  if (text == "T") return {TypeSlot::Kind::kT};
  if (text == "I") return {TypeSlot::Kind::kIndex};
  if (text == "seq") {
    return {TypeSlot::Kind::kT, DType::kF32, ValueKind::kSequence};
  }
  if (text == "A") return {TypeSlot::Kind::kAny};
  if (text == "attr") return {TypeSlot::Kind::kAttr};
  const auto dtype = ParseDType(text);
  ENCORE_CHECK(dtype.has_value()) << "signature of an op: " << text;
  return {TypeSlot::Kind::kFixed, *dtype};
}

// Reads "T, I?, A..." into slots; returns how many are required.
int ParseSlots(std::string_view text, std::vector<TypeSlot>* slots,
               bool* variadic) {
  int required = 0;
  if (StripWhitespace(text).empty()) return 0;
  for (std::string_view part : StrSplit(text, ',')) {
    part = StripWhitespace(part);
    if (part.ends_with("...")) {
      *variadic = true;
      part.remove_suffix(3);
    } else if (part.ends_with("?")) {
      part.remove_suffix(1);
    } else {
      ++required;
    }
    slots->push_back(ParseSlot(part));
  }
  return required;
}

Signature ParseSignature(std::string_view text) {
  const size_t close = text.find(')'), arrow = text.find("-> ");
  ENCORE_CHECK(text.starts_with("(") && arrow != std::string_view::npos)
      << text;
  Signature signature;
  signature.required_operands =
      ParseSlots(text.substr(1, close - 1), &signature.operands,
                 &signature.variadic_operands);
  ParseSlots(text.substr(arrow + 3), &signature.results,
             &signature.variadic_results);
  return signature;
}

}  // namespace

const TypeSlot& Signature::operand(int i) const {
  const int last = static_cast<int>(operands.size()) - 1;
  ENCORE_CHECK(i <= last || variadic_operands);
  return operands[std::min(i, last)];
}

bool Signature::AllowsOperands(int count) const {
  return count >= required_operands &&
         (variadic_operands || count <= static_cast<int>(operands.size()));
}

const Signature& OpInfo::signature() const {
  static const std::vector<Signature> signatures = [] {
    std::vector<Signature> all;
    for (const OpInfo& info : AllOps())
      all.push_back(ParseSignature(info.signature_text));
    return all;
  }();
  return signatures[static_cast<size_t>(op)];
}

bool OpInfo::allows(DType dtype) const {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

std::span<const OpInfo> AllOps() {
  static const std::vector<OpInfo> table = MakeTable();
  return table;
}

const OpInfo& Info(Op op) {
  ENCORE_CHECK_LT(static_cast<size_t>(op), AllOps().size());
  return AllOps()[static_cast<size_t>(op)];
}

bool MayFail(Op op, const Attributes& attributes) {
  if (!Info(op).has(kMayFail)) return false;
  bool fails = true;
  VisitFields(attributes,
              [&fails](std::string_view, const auto& field, const auto&) {
                using Field = std::decay_t<decltype(field)>;
                if constexpr (std::is_same_v<Field, OutOfRange>) {
                  fails = field == OutOfRange::kError;
                }
              });
  return fails;
}

std::optional<Op> ParseOp(std::string_view mnemonic) {
  static const std::map<std::string_view, Op> by_mnemonic = [] {
    std::map<std::string_view, Op> map;
    for (const OpInfo& info : AllOps()) map.emplace(info.mnemonic, info.op);
    return map;
  }();
  const auto found = by_mnemonic.find(mnemonic);
  if (found == by_mnemonic.end()) return std::nullopt;
  return found->second;
}

}  // namespace encore
