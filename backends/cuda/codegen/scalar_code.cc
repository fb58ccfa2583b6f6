#include "encore/backends/cuda/codegen/scalar_code.h"

#include <bit>
#include <cmath>

#include "encore/backends/region/scalar.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

bool IsNarrow(DType dtype) { return IsFloat(dtype) && BitWidth(dtype) < 32; }

// Whether the function that computes `op` may give what `dtype` cannot hold.
bool NeedsRounding(Op op, DType dtype) {
  if (!IsNarrow(dtype) && !IsPacked(dtype)) return false;
  switch (op) {
    case Op::kMax:
    case Op::kMin:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
      return false;
    default:
      return true;
  }
}

std::string Rounded(Op op, DType dtype, std::string call) {
  if (!NeedsRounding(op, dtype)) return call;
  return StrCat("round_", dtype, "(", call, ")");
}

// Whether a function of few instructions is as good as the one of f32, since
// its result is rounded to `dtype` at once.
bool HasNearly(Op op, DType dtype) {
  return dtype == DType::kF16 &&
         (op == Op::kExp || op == Op::kTanh || op == Op::kLogistic);
}

std::string_view Relation(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEq:
      return " == ";
    case Comparison::kNe:
      return " != ";
    case Comparison::kLt:
      return " < ";
    case Comparison::kLe:
      return " <= ";
    case Comparison::kGt:
      return " > ";
    case Comparison::kGe:
      return " >= ";
  }
  return " == ";
}

}  // namespace

std::string_view CType(DType dtype) {
  if (IsFloat(dtype)) return dtype == DType::kF64 ? "f64" : "f32";
  if (IsPacked(dtype)) return IsSigned(dtype) ? "i8" : "u8";
  ENCORE_CHECK(!IsString(dtype)) << "no scalar of a device";
  return Name(dtype);
}

int CTypeBytes(DType dtype) {
  if (IsFloat(dtype)) return dtype == DType::kF64 ? 8 : 4;
  return IsPacked(dtype) ? 1 : BitWidth(dtype) / 8;
}

std::string ConstantCode(DType dtype, uint64_t bits) {
  const Scalar value = FromBits(dtype, bits);
  if (dtype == DType::kF64) {
    return StrCat("__longlong_as_double(",
                  static_cast<int64_t>(std::bit_cast<uint64_t>(value.f)),
                  "ll)");
  }
  if (IsFloat(dtype)) {
    const auto narrow = static_cast<float>(value.f);
    return StrCat("__uint_as_float(", std::bit_cast<uint32_t>(narrow), "u)");
  }
  if (dtype == DType::kBool) return value.i != 0 ? "true" : "false";
  return StrCat("(", CType(dtype), ")", static_cast<uint64_t>(value.i), "ull");
}

std::string CastCode(DType dtype, std::string_view value, bool saturate) {
  const bool narrow = IsFloat(dtype) && BitWidth(dtype) <= 8;
  return StrCat("cast_", dtype, "(", value, narrow && saturate ? ", true" : "",
                ")");
}

std::string OpCode(const Region& region, const Expr& expr,
                   std::span<const std::string> operands, bool same_divisor) {
  const DType from = region.expr(expr.operands[0]).dtype;
  switch (expr.op) {
    case Op::kCast:
      return CastCode(expr.dtype, operands[0], expr.saturate);
    case Op::kSelect:
      return StrCat(operands[0], " ? ", operands[1], " : ", operands[2]);
    case Op::kCompare:
      return StrCat(operands[0], Relation(expr.comparison), operands[1]);
    default:
      break;
  }
  std::string name = StrCat(HasNearly(expr.op, expr.dtype) ? "nearly_" : "op_",
                            Mnemonic(expr.op));
  if (same_divisor && expr.op == Op::kDiv && CType(expr.dtype) == "f32") {
    name = "DivideBySame";
  }
  std::string call = StrCat(name, "(", operands[0]);
  for (const std::string& operand : operands.subspan(1)) {
    StrAppend(&call, ", ", operand);
  }
  call += ")";
  return expr.dtype == from ? Rounded(expr.op, from, call) : call;
}

std::string BinaryCode(Op op, DType dtype, std::string_view x,
                       std::string_view y) {
  return Rounded(op, dtype, StrCat("op_", Mnemonic(op), "(", x, ", ", y, ")"));
}

}  // namespace encore::backends::cuda
