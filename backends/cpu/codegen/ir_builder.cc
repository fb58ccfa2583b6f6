#include "encore/backends/cpu/codegen/ir_builder.h"

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

// <e x, e x, …> of a scalar's text.
std::string Repeat(IrType type, const std::string& scalar) {
  if (type.lanes == 1) return scalar;
  std::string text = "<";
  for (int i = 0; i < type.lanes; ++i) {
    StrAppend(&text, i > 0 ? ", " : "", ElemName(type.elem), " ", scalar);
  }
  return text + ">";
}

std::optional<int64_t> ConstantOf(const Value& value) {
  if (value.lanes() != 1) return std::nullopt;
  return ParseInt64(value.name);
}

}  // namespace

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
  return Emit(a.type, StrCat(opcode, " ", a.ToString(), ", ", b.name));
}

Value IrBuilder::Unary(std::string_view opcode, const Value& a) {
  return Emit(a.type, StrCat(opcode, " ", a.ToString()));
}

Value IrBuilder::Convert(std::string_view opcode, const Value& a, Elem to) {
  const IrType type = a.type.With(to);
  if (type == a.type) return a;
  return Emit(type, StrCat(opcode, " ", a.ToString(), " to ", type.ToString()));
}

Value IrBuilder::Bitcast(const Value& a, Elem to) {
  ENCORE_CHECK_EQ(ElemBits(a.type.elem), ElemBits(to));
  return Convert("bitcast", a, to);
}

Value IrBuilder::Compare(std::string_view predicate, const Value& a,
                         const Value& b) {
  ENCORE_CHECK(a.type == b.type)
      << predicate << " of " << a.ToString() << " and " << b.ToString();
  return Emit(a.type.With(Elem::kI1),
              StrCat(IsFloatElem(a.type.elem) ? "fcmp " : "icmp ", predicate,
                     " ", a.ToString(), ", ", b.name));
}

Value IrBuilder::Select(const Value& condition, const Value& a,
                        const Value& b) {
  ENCORE_CHECK(a.type == b.type)
      << "select of " << a.ToString() << " and " << b.ToString();
  return Emit(a.type, StrCat("select ", condition.ToString(), ", ",
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
  return Emit(type, StrCat("call ", flags, head, list(true), ")"));
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
  return Emit(a.type.Lanes(mask.lanes),
              StrCat("shufflevector ", a.ToString(), ", ", b.ToString(), ", ",
                     mask.ToString(), " <", text, ">"));
}

Value IrBuilder::Extract(const Value& a, int lane) {
  if (a.lanes() == 1) return a;
  return Emit(a.type.Lanes(1),
              StrCat("extractelement ", a.ToString(), ", i32 ", lane));
}

Value IrBuilder::Insert(const Value& a, const Value& scalar, int lane) {
  return Emit(a.type, StrCat("insertelement ", a.ToString(), ", ",
                             scalar.ToString(), ", i32 ", lane));
}

Value IrBuilder::Splat(const Value& a, int lanes) {
  if (a.lanes() == lanes) return a;
  ENCORE_CHECK_EQ(a.lanes(), 1);
  const IrType type = a.type.Lanes(lanes);
  if (a.name[0] != '%' && a.name[0] != '@') return {Repeat(type, a.name), type};
  const Value one = Emit(type, StrCat("insertelement ", type.ToString(),
                                      " poison, ", a.ToString(), ", i32 0"));
  return Emit(type,
              StrCat("shufflevector ", one.ToString(), ", ", type.ToString(),
                     " poison, ", type.With(Elem::kI32).ToString(),
                     " zeroinitializer"));
}

Value IrBuilder::Add(const Value& a, const Value& b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Int(a.type, *x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  return Binary("add", a, b);
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

Value IrBuilder::Gep(const Value& base, Elem elem, const Value& index) {
  if (index.name == "0") return base;
  return Emit({Elem::kPtr, index.lanes()},
              StrCat("getelementptr ", ElemName(elem), ", ", base.ToString(),
                     ", ", index.ToString()));
}

Value IrBuilder::Load(IrType type, const Value& pointer, int align) {
  return Emit(type, StrCat("load ", type.ToString(), ", ", pointer.ToString(),
                           ", align ", align));
}

void IrBuilder::Store(const Value& value, const Value& pointer, int align) {
  Line(StrCat("store ", value.ToString(), ", ", pointer.ToString(), ", align ",
              align));
}

Value IrBuilder::MaskedLoad(IrType type, const Value& pointer,
                            const Value& mask, const Value& otherwise,
                            int align) {
  const std::string head = StrCat("llvm.masked.load.", type.Suffix(), ".p0");
  const std::string result = type.ToString();
  Declare(StrCat("declare ", result, " @", head, "(ptr, i32 immarg, ",
                 mask.type.ToString(), ", ", result, ")"));
  return Emit(type, StrCat("call ", result, " @", head, "(", pointer.ToString(),
                           ", i32 ", align, ", ", mask.ToString(), ", ",
                           otherwise.ToString(), ")"));
}

void IrBuilder::MaskedStore(const Value& value, const Value& pointer,
                            const Value& mask, int align) {
  const std::string head =
      StrCat("llvm.masked.store.", value.type.Suffix(), ".p0");
  Declare(StrCat("declare void @", head, "(", value.type.ToString(),
                 ", ptr, i32 immarg, ", mask.type.ToString(), ")"));
  Line(StrCat("call void @", head, "(", value.ToString(), ", ",
              pointer.ToString(), ", i32 ", align, ", ", mask.ToString(), ")"));
}

Value IrBuilder::Gather(IrType type, const Value& pointers, const Value& mask,
                        const Value& otherwise, int align) {
  const std::string head =
      StrCat("llvm.masked.gather.", type.Suffix(), ".", pointers.type.Suffix());
  const std::string result = type.ToString();
  Declare(StrCat("declare ", result, " @", head, "(", pointers.type.ToString(),
                 ", i32 immarg, ", mask.type.ToString(), ", ", result, ")"));
  return Emit(type, StrCat("call ", result, " @", head, "(",
                           pointers.ToString(), ", i32 ", align, ", ",
                           mask.ToString(), ", ", otherwise.ToString(), ")"));
}

void IrBuilder::Scatter(const Value& value, const Value& pointers,
                        const Value& mask, int align) {
  const std::string head = StrCat("llvm.masked.scatter.", value.type.Suffix(),
                                  ".", pointers.type.Suffix());
  Declare(StrCat("declare void @", head, "(", value.type.ToString(), ", ",
                 pointers.type.ToString(), ", i32 immarg, ",
                 mask.type.ToString(), ")"));
  Line(StrCat("call void @", head, "(", value.ToString(), ", ",
              pointers.ToString(), ", i32 ", align, ", ", mask.ToString(),
              ")"));
}

void IrBuilder::AtomicUpdate(std::string_view opcode, const Value& pointer,
                             const Value& value) {
  Emit(value.type, StrCat("atomicrmw ", opcode, " ", pointer.ToString(), ", ",
                          value.ToString(), " monotonic"));
}

void IrBuilder::Prefetch(const Value& pointer, CacheLevel level) {
  Declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
  Line(StrCat("call void @llvm.prefetch.p0(", pointer.ToString(), ", i32 0, ",
              level == CacheLevel::kFirst ? "i32 3" : "i32 2", ", i32 1)"));
}

Value IrBuilder::NewVariable(IrType type) {
  Value value{StrCat("%t", next_++), {Elem::kPtr, 1}};
  StrAppend(&allocas_, "  ", value.name, " = alloca ", type.ToString(),
            ", align 64\n");
  return value;
}

Value IrBuilder::NewArray(IrType type, int64_t count) {
  Value value{StrCat("%t", next_++), {Elem::kPtr, 1}};
  StrAppend(&allocas_, "  ", value.name, " = alloca [", count, " x ",
            type.ToString(), "], align 64\n");
  return value;
}

Value IrBuilder::Get(const Value& variable, IrType type) {
  return Emit(type, StrCat("load ", type.ToString(), ", ptr ", variable.name));
}

void IrBuilder::Set(const Value& variable, const Value& value) {
  Line(StrCat("store ", value.ToString(), ", ptr ", variable.name));
}

std::string IrBuilder::NewLabel() { return StrCat("b", next_label_++); }

void IrBuilder::StartBlock(const std::string& label) {
  StrAppend(&body_, label, ":\n");
  label_ = label;
}

void IrBuilder::Loop(const Value& begin, const Value& end, int64_t step,
                     const std::function<void(const Value&)>& body) {
  const auto first = ConstantOf(begin), last = ConstantOf(end);
  if (first && last && *first >= *last) return;
  if (first && last && *last - *first <= step) return body(begin);
  const std::string head = NewLabel(), exit = NewLabel();
  const Value induction{StrCat("%t", next_++), begin.type};
  const Value next{StrCat("%t", next_++), begin.type};
  std::string entry = label_;
  if (!(first && last)) {
    const Value any = Compare("slt", begin, end);
    Line(StrCat("br i1 ", any.name, ", label %", head, ", label %", exit));
  } else {
    Line(StrCat("br label %", head));
  }
  StartBlock(head);
  // The phi names the block that the body ends in, which is known afterwards.
  const size_t phi_position = body_.size();
  body(induction);
  const std::string phi = StrCat(
      "  ", induction.name, " = phi ", begin.type.ToString(), " [ ", begin.name,
      ", %", entry, " ], [ ", next.name, ", %", label_, " ]\n");
  body_.insert(phi_position, phi);
  Line(StrCat(next.name, " = add nuw nsw ", induction.ToString(), ", ", step));
  const Value more = Compare("slt", next, end);
  Line(StrCat("br i1 ", more.name, ", label %", head, ", label %", exit));
  StartBlock(exit);
}

void IrBuilder::While(const std::function<Value()>& condition,
                      const std::function<void()>& body) {
  const std::string head = NewLabel(), inside = NewLabel(), exit = NewLabel();
  Line(StrCat("br label %", head));
  StartBlock(head);
  const Value more = condition();
  Line(StrCat("br i1 ", more.name, ", label %", inside, ", label %", exit));
  StartBlock(inside);
  body();
  Line(StrCat("br label %", head));
  StartBlock(exit);
}

void IrBuilder::If(const Value& condition, const std::function<void()>& then,
                   const std::function<void()>& otherwise) {
  const std::string yes = NewLabel(), no = NewLabel(), join = NewLabel();
  Line(StrCat("br i1 ", condition.name, ", label %", yes, ", label %",
              otherwise ? no : join));
  StartBlock(yes);
  then();
  Line(StrCat("br label %", join));
  if (otherwise) {
    StartBlock(no);
    otherwise();
    Line(StrCat("br label %", join));
  }
  StartBlock(join);
}

void IrBuilder::Call(const Value& function, const std::vector<Value>& arguments,
                     std::string_view attributes) {
  Line(StrCat("call void ", function.name, "(",
              StrJoin(arguments, ", ",
                      [](std::string* out, const Value& v) {
                        out->append(v.ToString());
                      }),
              ")", attributes.empty() ? "" : " ", attributes));
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
