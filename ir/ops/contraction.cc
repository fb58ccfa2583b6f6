#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

Status CheckPairs(const InferContext& context, std::string_view name,
                  const AxisPairs& pairs) {
  if (pairs.lhs.size() != pairs.rhs.size()) {
    return context.Error(StrCat("attribute ", name, " pairs ", pairs.lhs.size(),
                                " axes with ", pairs.rhs.size()));
  }
  const Shape &lhs = context.shape(0), &rhs = context.shape(1);
  ENCORE_RETURN_IF_ERROR(
      CheckDistinctAxes(context, name, pairs.lhs, lhs.rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckDistinctAxes(context, name, pairs.rhs, rhs.rank()));
  for (size_t i = 0; i < pairs.lhs.size(); ++i) {
    const Dim& a = lhs[static_cast<int>(pairs.lhs[i])];
    const Dim& b = rhs[static_cast<int>(pairs.rhs[i])];
    if (a == b) continue;
    return context.Error(StrCat(
        "attribute ", name, " pairs dim ", pairs.lhs[i], " of ",
        lhs.ToString(context.symbols), " with dim ", pairs.rhs[i], " of ",
        rhs.ToString(context.symbols), ", expected equal extents"));
  }
  return OkStatus();
}

// Both lists together name no axis twice.
Status CheckDisjoint(const InferContext& context, Ints contract,
                     const Ints& batch, int rank) {
  contract.insert(contract.end(), batch.begin(), batch.end());
  return CheckDistinctAxes(context, "contract and batch", contract, rank);
}

Status CheckGroups(const InferContext& context, const ConvolutionAttrs& attrs) {
  const Shape &input = context.shape(0), &kernel = context.shape(1);
  const int64_t feature = attrs.feature_groups, batch = attrs.batch_groups;
  if (feature < 1 || batch < 1 || (feature > 1 && batch > 1)) {
    return context.Error(
        StrCat("attributes feature_groups and batch_groups "
               "are ",
               feature, " and ", batch, ", expected positive, one of them 1"));
  }
  if (kernel[1] * feature != input[1]) {
    return context.Error(
        StrCat("operand 1 is ", kernel.ToString(context.symbols),
               ", expected dim 1 times feature_groups (", feature,
               ") to be the channels of ", input.ToString(context.symbols)));
  }
  const auto divides = [](int64_t groups, const Dim& dim) {
    return FloorDiv(dim, groups) * groups == dim;
  };
  if (!divides(feature, kernel[0]) || !divides(batch, kernel[0]) ||
      !divides(batch, input[0])) {
    return context.Error(
        StrCat("output channels of ", kernel.ToString(context.symbols),
               " or samples of ", input.ToString(context.symbols),
               " do not divide into ", feature * batch, " groups"));
  }
  return OkStatus();
}

}  // namespace

Types InferDotGeneral(const InferContext& context) {
  const DotGeneralAttrs& attrs = context.attrs<DotGeneralAttrs>();
  const Shape &lhs = context.shape(0), &rhs = context.shape(1);
  ENCORE_RETURN_IF_ERROR(CheckPairs(context, "contract", attrs.contract));
  ENCORE_RETURN_IF_ERROR(CheckPairs(context, "batch", attrs.batch));
  ENCORE_RETURN_IF_ERROR(
      CheckDisjoint(context, attrs.contract.lhs, attrs.batch.lhs, lhs.rank()));
  ENCORE_RETURN_IF_ERROR(
      CheckDisjoint(context, attrs.contract.rhs, attrs.batch.rhs, rhs.rank()));
  std::vector<Dim> dims;
  for (const int64_t axis : attrs.batch.lhs) {
    dims.push_back(lhs[static_cast<int>(axis)]);
  }
  const auto append_free = [&dims](const Shape& shape, Ints used,
                                   const Ints& batch) {
    used.insert(used.end(), batch.begin(), batch.end());
    const Shape free = WithoutAxes(shape, used);
    dims.insert(dims.end(), free.dims().begin(), free.dims().end());
  };
  append_free(lhs, attrs.contract.lhs, attrs.batch.lhs);
  append_free(rhs, attrs.contract.rhs, attrs.batch.rhs);
  return Like(context, Shape(std::move(dims)));
}

Types InferConvolution(const InferContext& context) {
  const ConvolutionAttrs& attrs = context.attrs<ConvolutionAttrs>();
  ENCORE_RETURN_IF_ERROR(CheckMinRank(context, 0, 2));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, context.shape(0).rank()));
  const Shape &input = context.shape(0), &kernel = context.shape(1);
  const size_t spatial = input.rank() - 2;
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "strides", attrs.strides, spatial, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "lhs_dilation", attrs.lhs_dilation, spatial, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "rhs_dilation", attrs.rhs_dilation, spatial, 1));
  ENCORE_RETURN_IF_ERROR(
      CheckPadding(context, "padding_low", attrs.padding_low, spatial));
  ENCORE_RETURN_IF_ERROR(
      CheckPadding(context, "padding_high", attrs.padding_high, spatial));
  ENCORE_RETURN_IF_ERROR(CheckGroups(context, attrs));
  std::vector<Dim> dims = {FloorDiv(input[0], attrs.batch_groups), kernel[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const int dim = static_cast<int>(i) + 2;
    dims.push_back(WindowCount(
        context, input[dim],
        {kernel[dim], attrs.strides[i], attrs.padding_low[i],
         attrs.padding_high[i], attrs.rhs_dilation[i], attrs.lhs_dilation[i]}));
  }
  return Like(context, Shape(std::move(dims)));
}

Types InferLinear(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckMinRank(context, 0, 1));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 2));
  Shape shape = context.shape(0);
  const Shape& weight = context.shape(1);
  const int last = shape.rank() - 1;
  ENCORE_RETURN_IF_ERROR(
      CheckShape(context, 1, Shape({weight[0], shape[last]})));
  if (context.operands.size() > 2) {
    ENCORE_RETURN_IF_ERROR(CheckShape(context, 2, Shape({weight[0]})));
  }
  shape[last] = weight[0];
  return Like(context, std::move(shape));
}

}  // namespace encore::ops
