#include "encore/backends/cuda/codegen/combiner_code.h"

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/region/scalar.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends::cuda {
namespace {

// What no element of `dtype` is above, or below.
std::string Extreme(DType dtype, DType accumulate, bool highest) {
  if (IsFloat(dtype)) {
    const double limit = UpperLimit(dtype);
    return ConstantCode(
        accumulate,
        ToBits(accumulate, OfDouble(accumulate, highest ? limit : -limit)));
  }
  const bool is_signed = IsSigned(dtype);
  const int bits = dtype == DType::kBool ? 1 : BitWidth(dtype);
  const uint64_t lowest = is_signed ? uint64_t{1} << (bits - 1) : 0;
  return ConstantCode(dtype, highest ? ~lowest : lowest);
}

std::string_view NameOf(RegionCombiner combiner) {
  switch (combiner) {
    case RegionCombiner::kProduct:
      return "ProductOf";
    case RegionCombiner::kMax:
      return "MaxOf";
    case RegionCombiner::kMin:
      return "MinOf";
    case RegionCombiner::kAnd:
      return "AndOf";
    case RegionCombiner::kOr:
      return "OrOf";
    default:
      return "SumOf";
  }
}

}  // namespace

std::string CombinerCode::Add(std::string_view accumulator,
                              std::string_view name,
                              std::string_view order) const {
  return StrCat(accumulator, ".Add((", value, ")", name, ", ", order, ");\n");
}

std::string CombinerCode::Result(std::string_view accumulator, int component,
                                 std::string_view last_extent) const {
  switch (combiner) {
    case RegionCombiner::kArgMax:
    case RegionCombiner::kArgMin:
    case RegionCombiner::kArgMaxLast:
    case RegionCombiner::kArgMinLast: {
      const std::string number =
          StrCat("(", accumulator, ".order < 0 ? 0ll : ", accumulator,
                 ".order % (i64)", last_extent, ")");
      return CastCode(dtype, number);
    }
    case RegionCombiner::kWelford:
      return CastCode(
          dtype, StrCat(accumulator, component == 0 ? ".mean" : ".squares"));
    case RegionCombiner::kOnlineSoftmax:
      return CastCode(
          dtype, StrCat(accumulator, component == 0 ? ".largest" : ".Sum()"));
    default:
      return CastCode(dtype, StrCat(accumulator, ".v"));
  }
}

CombinerCode CombinerOf(const Region& region, uint32_t s) {
  const Stage& stage = region.stages[s];
  const DType dtype = region.expr(stage.value).dtype;
  const DType kept = IsFloat(dtype) ? stage.accumulate : dtype;
  CombinerCode code{.combiner = stage.combiner, .dtype = stage.dtype};
  code.kept = kept;
  code.value = CType(kept);
  const auto arg = [&](bool max, bool last) {
    code.type = StrCat("ArgOf<", code.value, ", ", max ? "true" : "false", ", ",
                       last ? "true" : "false", ">");
    code.identity = "{0, -1}";
  };
  switch (stage.combiner) {
    case RegionCombiner::kArgMax:
      arg(true, false);
      return code;
    case RegionCombiner::kArgMin:
      arg(false, false);
      return code;
    case RegionCombiner::kArgMaxLast:
      arg(true, true);
      return code;
    case RegionCombiner::kArgMinLast:
      arg(false, true);
      return code;
    case RegionCombiner::kWelford:
      code.type = StrCat("WelfordOf<", code.value, ">");
      code.identity = "{0, 0, 0}";
      return code;
    case RegionCombiner::kOnlineSoftmax:
      code.type = StrCat("OnlineSoftmaxOf<", code.value, ">");
      code.identity = StrCat("{", Extreme(dtype, kept, false), ", 0, 0}");
      return code;
    default:
      break;
  }
  code.type = StrCat(NameOf(stage.combiner), "<", code.value, ">");
  std::string identity = StrCat("(", code.value, ")0");
  switch (stage.combiner) {
    case RegionCombiner::kProduct:
      identity = StrCat("(", code.value, ")1");
      break;
    case RegionCombiner::kAnd:
      identity =
          dtype == DType::kBool ? "true" : StrCat("(", code.value, ")-1");
      break;
    case RegionCombiner::kMax:
      identity = Extreme(dtype, kept, false);
      break;
    case RegionCombiner::kMin:
      identity = Extreme(dtype, kept, true);
      break;
    default:
      break;
  }
  code.identity = StrCat("{", identity, "}");
  return code;
}

}  // namespace encore::backends::cuda
