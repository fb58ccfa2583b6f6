#include "encore/backends/cpu/codegen/builder/ir_builder.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

std::string_view ElemName(Elem elem) {
  switch (elem) {
    case Elem::kI1:
      return "i1";
    case Elem::kI8:
      return "i8";
    case Elem::kI16:
      return "i16";
    case Elem::kI32:
      return "i32";
    case Elem::kI64:
      return "i64";
    case Elem::kF16:
      return "half";
    case Elem::kF32:
      return "float";
    case Elem::kF64:
      return "double";
    case Elem::kPtr:
      return "ptr";
  }
  return "";
}

std::string ScalarText(Elem elem, double value) {
  // LLVM writes floats and halves by the bits of the double of that value.
  char text[32];
  if (elem == Elem::kF16) {
    std::snprintf(text, sizeof(text), "0xH%04X",
                  std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
    return text;
  }
  if (elem == Elem::kF32) value = static_cast<float>(value);
  std::snprintf(
      text, sizeof(text), "0x%016llX",
      static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text;
}

// A vector of a scalar's text.
std::string Repeat(IrType type, const std::string& scalar) {
  if (type.lanes == 1) return scalar;
  return StrCat("splat (", ElemName(type.elem), " ", scalar, ")");
}

int64_t WrappedSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

// Nothing for a predicate that it does not know.
std::optional<bool> CompareConstants(std::string_view predicate, int64_t a,
                                     int64_t b) {
  if (predicate == "eq") return a == b;
  if (predicate == "ne") return a != b;
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool is_signed = predicate[0] == 's';
  const bool less = is_signed ? a < b : x < y;
  const std::string_view kind = predicate.substr(1);
  if (kind == "lt") return less;
  if (kind == "ge") return !less;
  if (kind == "le") return less || a == b;
  if (kind == "gt") return !less && a != b;
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> IrBuilder::ConstantOf(const Value& value) {
  if (value.lanes() != 1) return std::nullopt;
  return ParseInt64(value.name);
}

std::optional<bool> IrBuilder::TruthOf(const Value& value) {
  if (value.type.elem != Elem::kI1 || value.name[0] == '%') return std::nullopt;
  for (const bool truth : {false, true}) {
    if (value.name == Int(value.type, truth).name) return truth;
  }
  return std::nullopt;
}

int ElemBits(Elem elem) {
  switch (elem) {
    case Elem::kI1:
      return 1;
    case Elem::kI8:
      return 8;
    case Elem::kI16:
    case Elem::kF16:
      return 16;
    case Elem::kI32:
    case Elem::kF32:
      return 32;
    default:
      return 64;
  }
}

int ElemBytes(Elem elem) { return std::max(ElemBits(elem) / 8, 1); }

std::string IrType::ToString() const {
  if (lanes == 1) return std::string(ElemName(elem));
  return StrCat("<", lanes, " x ", ElemName(elem), ">");
}

std::string IrType::Suffix() const {
  const std::string scalar =
      elem == Elem::kPtr
          ? "p0"
          : StrCat(IsFloatElem(elem) ? "f" : "i", ElemBits(elem));
  return lanes == 1 ? scalar : StrCat("v", lanes, scalar);
}

std::string Value::ToString() const {
  return StrCat(type.ToString(), " ", name);
}

Value IrBuilder::Int(IrType type, int64_t value) {
  ENCORE_CHECK(!IsFloatElem(type.elem));
  if (type.elem == Elem::kI1) value &= 1;
  return {Repeat(type, StrCat(value)), type};
}

Value IrBuilder::Float(IrType type, double value) {
  ENCORE_CHECK(IsFloatElem(type.elem));
  return {Repeat(type, ScalarText(type.elem, value)), type};
}

Value IrBuilder::Zero(IrType type) {
  return IsFloatElem(type.elem) ? Float(type, 0) : Int(type, 0);
}

Value IrBuilder::True(int lanes) { return Int({Elem::kI1, lanes}, 1); }

Value IrBuilder::Steps(IrType type, int64_t step, int64_t repeat) {
  if (type.lanes == 1) return Int(type, 0);
  std::string text = "<";
  for (int i = 0; i < type.lanes; ++i) {
    StrAppend(&text, i > 0 ? ", " : "", ElemName(type.elem), " ",
              i / repeat * step);
  }
  return {text + ">", type};
}

Value IrBuilder::PrefixMask(int lanes, int64_t count) {
  const IrType type{Elem::kI1, lanes};
  if (lanes == 1) return Int(type, count > 0);
  std::string text = "<";
  for (int i = 0; i < lanes; ++i) {
    StrAppend(&text, i > 0 ? ", " : "", "i1 ", i < count ? 1 : 0);
  }
  return {text + ">", type};
}

Value IrBuilder::Parameter(std::string_view name, Elem elem) {
  return {StrCat("%", name), {elem, 1}};
}

Value IrBuilder::Emit(IrType type, const std::string& text) {
  Value value{StrCat("%t", next_++), type};
  Line(StrCat(value.name, " = ", text));
  return value;
}

Value IrBuilder::Compute(IrType type, const std::string& text) {
  return ComputeSince(0, type, text);
}

Value IrBuilder::ComputeSince(uint64_t writes, IrType type,
                              const std::string& text) {
  Known& known = known_[text];
  if (known.name.empty() || !open_[known.scope] || known.writes != writes) {
    known = {Emit(type, text).name, scope_, writes};
  }
  return {known.name, type};
}

void IrBuilder::InScope(const std::function<void()>& body) {
  const size_t outer = scope_, inner = open_.size();
  open_.push_back(true);
  scope_ = inner;
  body();
  open_[inner] = false;
  scope_ = outer;
}

void IrBuilder::Line(const std::string& text) {
  StrAppend(&body_, "  ", text, "\n");
}

void IrBuilder::Declare(const std::string& declaration) {
  declarations_.insert(declaration);
}

Value IrBuilder::Binary(std::string_view opcode, const Value& a,
                        const Value& b) {
  ENCORE_CHECK(a.type == b.type)
      << opcode << " of " << a.ToString() << " and " << b.ToString();
  if (opcode == "and" && a.type.elem == Elem::kI1) {
    if (const auto truth = TruthOf(a)) return *truth ? b : a;
    if (const auto truth = TruthOf(b)) return *truth ? a : b;
  }
  return Compute(a.type, StrCat(opcode, " ", a.ToString(), ", ", b.name));
}

Value IrBuilder::Unary(std::string_view opcode, const Value& a) {
  return Compute(a.type, StrCat(opcode, " ", a.ToString()));
}

Value IrBuilder::Convert(std::string_view opcode, const Value& a, Elem to) {
  const IrType type = a.type.With(to);
  if (type == a.type) return a;
  return Compute(type,
                 StrCat(opcode, " ", a.ToString(), " to ", type.ToString()));
}

Value IrBuilder::Bitcast(const Value& a, Elem to) {
  ENCORE_CHECK_EQ(ElemBits(a.type.elem), ElemBits(to));
  return Convert("bitcast", a, to);
}

Value IrBuilder::Compare(std::string_view predicate, const Value& a,
                         const Value& b) {
  ENCORE_CHECK(a.type == b.type)
      << predicate << " of " << a.ToString() << " and " << b.ToString();
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y && a.type.elem == Elem::kI64) {
    if (const auto truth = CompareConstants(predicate, *x, *y)) {
      return Int({Elem::kI1, 1}, *truth);
    }
  }
  return Compute(a.type.With(Elem::kI1),
                 StrCat(IsFloatElem(a.type.elem) ? "fcmp " : "icmp ", predicate,
                        " ", a.ToString(), ", ", b.name));
}

Value IrBuilder::Select(const Value& condition, const Value& a,
                        const Value& b) {
  ENCORE_CHECK(a.type == b.type)
      << "select of " << a.ToString() << " and " << b.ToString();
  if (const auto truth = TruthOf(condition)) return *truth ? a : b;
  return Compute(a.type, StrCat("select ", condition.ToString(), ", ",
                                a.ToString(), ", ", b.ToString()));
}

Value IrBuilder::CallIntrinsic(std::string_view name, IrType type,
                               const std::vector<Value>& operands,
                               std::string_view flags) {
  const auto list = [&operands](bool names) {
    return StrJoin(operands, ", ", [names](std::string* out, const Value& v) {
      out->append(names ? v.ToString() : v.type.ToString());
    });
  };
  const std::string head = StrCat(type.ToString(), " @llvm.", name, "(");
  Declare(StrCat("declare ", head, list(false), ")"));
  return Compute(type, StrCat("call ", flags, head, list(true), ")"));
}

Value IrBuilder::Intrinsic(std::string_view name, std::vector<Value> operands,
                           std::string_view flags) {
  const IrType type = operands[0].type;
  return CallIntrinsic(StrCat(name, ".", type.Suffix()), type, operands, flags);
}

Value IrBuilder::ConvertIntrinsic(std::string_view name, const Value& a,
                                  Elem to) {
  const IrType type = a.type.With(to);
  return CallIntrinsic(StrCat(name, ".", type.Suffix(), ".", a.type.Suffix()),
                       type, {a});
}

Value IrBuilder::Opaque(const Value& a) {
  return IsFloatElem(a.type.elem) ? Intrinsic("arithmetic.fence", {a}) : a;
}

Value IrBuilder::ReduceOr(const Value& a) {
  return CallIntrinsic(StrCat("vector.reduce.or.", a.type.Suffix()),
                       a.type.Lanes(1), {a});
}

Value IrBuilder::ScaleByPower(const Value& a, const Value& exponent) {
  ENCORE_CHECK(CanScaleByPower(a.type));
  // All lanes, rounded as is set: constants of AVX-512's intrinsic.
  constexpr int64_t kAllLanes = -1, kCurrentRounding = 4;
  return CallIntrinsic(
      "x86.avx512.mask.scalef.ps.512", a.type,
      {a, exponent, Zero(a.type), Int({Elem::kI16, 1}, kAllLanes),
       I32(kCurrentRounding)});
}

Value IrBuilder::Shuffle(const Value& a, const Value& b,
                         std::span<const int> lanes) {
  const IrType mask{Elem::kI32, static_cast<int>(lanes.size())};
  std::string text = StrJoin(lanes, ", ", [](std::string* out, int lane) {
    StrAppend(out, "i32 ", lane);
  });
  return Compute(a.type.Lanes(mask.lanes),
                 StrCat("shufflevector ", a.ToString(), ", ", b.ToString(),
                        ", ", mask.ToString(), " <", text, ">"));
}

Value IrBuilder::Extract(const Value& a, int lane) {
  if (a.lanes() == 1) return a;
  return Compute(a.type.Lanes(1),
                 StrCat("extractelement ", a.ToString(), ", i32 ", lane));
}

Value IrBuilder::Insert(const Value& a, const Value& scalar, int lane) {
  return Compute(a.type, StrCat("insertelement ", a.ToString(), ", ",
                                scalar.ToString(), ", i32 ", lane));
}

Value IrBuilder::Splat(const Value& a, int lanes) {
  if (a.lanes() == lanes) return a;
  ENCORE_CHECK_EQ(a.lanes(), 1);
  const IrType type = a.type.Lanes(lanes);
  if (a.name[0] != '%' && a.name[0] != '@') return {Repeat(type, a.name), type};
  const Value one = Compute(type, StrCat("insertelement ", type.ToString(),
                                         " poison, ", a.ToString(), ", i32 0"));
  return Compute(type,
                 StrCat("shufflevector ", one.ToString(), ", ", type.ToString(),
                        " poison, ", type.With(Elem::kI32).ToString(),
                        " zeroinitializer"));
}

Value IrBuilder::Add(const Value& a, const Value& b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Int(a.type, WrappedSum(*x, *y));
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  if (a.type != IrType{Elem::kI64, 1} || b.type != a.type) {
    return Binary("add", a, b);
  }
  if (x) return AddOffset(b, *x);
  if (y) return AddOffset(a, *y);
  const auto left = sums_.find(a.name), right = sums_.find(b.name);
  if (left == sums_.end() && right == sums_.end()) return Binary("add", a, b);
  const Sum none;
  const Sum& p = left == sums_.end() ? none : left->second;
  const Sum& q = right == sums_.end() ? none : right->second;
  return AddOffset(Binary("add", left == sums_.end() ? a : p.base,
                          right == sums_.end() ? b : q.base),
                   WrappedSum(p.offset, q.offset));
}

Value IrBuilder::AddOffset(const Value& a, int64_t b) {
  Sum sum{a, b};
  if (const auto known = sums_.find(a.name); known != sums_.end()) {
    sum = {known->second.base, WrappedSum(known->second.offset, b)};
  }
  if (sum.offset == 0) return sum.base;
  const Value value = Binary("add", sum.base, I64(sum.offset));
  sums_.try_emplace(value.name, std::move(sum));
  return value;
}

Value IrBuilder::Sub(const Value& a, const Value& b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Int(a.type, *x - *y);
  if (y && *y == 0) return a;
  return Binary("sub", a, b);
}

Value IrBuilder::Mul(const Value& a, const Value& b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Int(a.type, *x * *y);
  if ((x && *x == 1) || (y && *y == 0)) return b;
  if ((y && *y == 1) || (x && *x == 0)) return a;
  return Binary("mul", a, b);
}

Value IrBuilder::Mul(const Value& a, int64_t b) {
  if (b == 0) return Zero(a.type);
  if (b == 1) return a;
  return Mul(a, Int(a.type, b));
}

Value IrBuilder::Add(const Value& a, int64_t b) {
  return b == 0 ? a : Add(a, Int(a.type, b));
}

std::string IrBuilder::Finish(std::string_view name,
                              std::string_view parameters, int vector_bits) {
  std::string text;
  StrAppend(&text, "define void @", name, "(", parameters, ") #0 {\nstart:\n",
            allocas_, body_, "  ret void\n}\n");
  for (const std::string& declaration : declarations_) {
    StrAppend(&text, declaration, "\n");
  }
  StrAppend(&text,
            "attributes #0 = { nounwind \"no-builtins\" "
            "\"min-legal-vector-width\"=\"",
            vector_bits, "\" \"prefer-vector-width\"=\"", vector_bits,
            "\" }\n");
  return text;
}

}  // namespace encore::backends::cpu
