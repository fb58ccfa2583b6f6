#include <cmath>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/resize_axis.h"
#include "encore/ir/import/onnx/image/resize_formulas.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// More result elements along one axis are no image.
constexpr int64_t kMaxResized = int64_t{1} << 24;

StatusOr<ResizeMode> ReadMode(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  ResizeMode mode;
  ENCORE_ASSIGN_OR_RETURN(mode.interpolation,
                          attributes.Word<Interpolation>(
                              "mode", {{"nearest", Interpolation::kNearest},
                                       {"linear", Interpolation::kLinear},
                                       {"cubic", Interpolation::kCubic},
                                       {"bilinear", Interpolation::kLinear}}));
  ENCORE_ASSIGN_OR_RETURN(
      mode.transformation,
      attributes.Word<Transformation>(
          "coordinate_transformation_mode",
          {{"half_pixel", Transformation::kHalfPixel},
           {"half_pixel_symmetric", Transformation::kHalfPixelSymmetric},
           {"pytorch_half_pixel", Transformation::kPytorchHalfPixel},
           {"align_corners", Transformation::kAlignCorners},
           {"asymmetric", Transformation::kAsymmetric},
           {"tf_crop_and_resize", Transformation::kTfCropAndResize},
           {"tf_half_pixel_for_nn", Transformation::kTfHalfPixelForNn}}));
  ENCORE_ASSIGN_OR_RETURN(
      mode.nearest,
      attributes.Word<NearestMode>(
          "nearest_mode",
          {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
           {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
           {"floor", NearestMode::kFloor},
           {"ceil", NearestMode::kCeil},
           {"floor_or_ceil_if_smaller", NearestMode::kFloorOrCeilIfSmaller}}));
  ENCORE_ASSIGN_OR_RETURN(mode.policy,
                          attributes.Word<AspectPolicy>(
                              "keep_aspect_ratio_policy",
                              {{"stretch", AspectPolicy::kStretch},
                               {"not_larger", AspectPolicy::kNotLarger},
                               {"not_smaller", AspectPolicy::kNotSmaller}}));
  ENCORE_ASSIGN_OR_RETURN(mode.cubic_a,
                          attributes.Float("cubic_coeff_a", -0.75f));
  ENCORE_ASSIGN_OR_RETURN(mode.extrapolation,
                          attributes.Float("extrapolation_value", 0));
  ENCORE_ASSIGN_OR_RETURN(mode.exclude_outside,
                          attributes.Bool("exclude_outside", false));
  ENCORE_ASSIGN_OR_RETURN(mode.antialias, attributes.Bool("antialias", false));
  return mode;
}

using Numbers = std::vector<GraphNumber>;

// The elements of input i, a vector of as many floats as there are `others`.
StatusOr<Numbers> NumbersInput(NodeContext& context, int i,
                               std::string_view what, size_t count) {
  if (IsConstant(context, i)) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<double> numbers,
                            context.FloatsInput(i, what));
    if (numbers.size() == count) return Numbers(numbers.begin(), numbers.end());
    return NodeContext::Error(StrCat("input ", what, " has ", numbers.size(),
                                     " entries, expected ", count));
  }
  GraphBuilder& g = context.builder();
  const Value input = context.Input(i);
  const auto length = static_cast<int64_t>(count);
  const Shape shape = input.shape();
  if (shape.rank() == 1 && !shape[0].is_constant()) {
    return context.Unknown(
        StrCat("input ", what, " has ", shape[0],
               " elements; how many there are must be known when the model is "
               "compiled"));
  }
  if (!IsFloat(input.dtype()) || !(shape == Shape({Dim(length)}))) {
    return NodeContext::Error(StrCat("input ", what, " is ", input.type(),
                                     ", expected ", count, " floats"));
  }
  Numbers numbers;
  for (int64_t k = 0; k < length; ++k) {
    const Value one = context.Reshape(g.SliceAxis(input, 0, k, k + 1), Dims());
    numbers.emplace_back(g, g.Cast(one, DType::kF64));
  }
  return numbers;
}

GraphNumber NumberOf(GraphBuilder& g, const IndexExpr& integer) {
  if (const auto constant = integer.constant()) {
    return static_cast<double>(*constant);
  }
  return {g, g.Cast(integer.ToValue(g), DType::kF64)};
}

// How axes are resized, read from the inputs.
class PlanReader {
 public:
  PlanReader(NodeContext& context, const ResizeMode& mode)
      : context_(context), mode_(mode), shapes_(context) {}

  // The plans of `axes` of a shape, but for those that stay as they are.
  StatusOr<std::vector<AxisPlan>> Read(const Ints& axes, const Shape& shape);
  // `x`, once what the plans require holds.
  StatusOr<Value> Assert(Value x) {
    return shapes_.Assert(x, StrCat("input ", source_,
                                    " has an entry that leads to a negative or "
                                    "too large extent"));
  }

 private:
  Status ReadCrops();
  Status ReadSizes();
  Status ReadScales();
  // What the axis becomes by its scale.
  IndexExpr Scaled(const AxisPlan& plan, std::string_view wrong);
  void DefineDims(AxisPlan* plan);

  void Require(const GraphNumber& condition, std::string_view wrong) {
    shapes_.Require(condition.known()
                        ? Condition(condition.number() != 0)
                        : Condition(context_.builder(), condition.value()),
                    wrong);
  }
  // A number that is required to be in [0, most], without its fraction.
  IndexExpr Integer(const GraphNumber& number, int64_t most,
                    std::string_view wrong);
  // That the axis cannot be resized by an entry of the input.
  template <typename Entry>
  std::string Wrong(const AxisPlan& plan, const Entry& entry) const {
    return StrCat(
        "input ", source_, " has an entry of ", entry, ": dim ", plan.axis,
        " of extent ",
        plan.from.dim().ToString(context_.builder().graph().symbols()),
        " cannot be resized by it");
  }

  NodeContext& context_;
  const ResizeMode& mode_;
  ShapeBuilder shapes_;
  std::string_view source_;  // the input that says the extents
  std::vector<AxisPlan> plans_;
};

IndexExpr PlanReader::Integer(const GraphNumber& number, int64_t most,
                              std::string_view wrong) {
  // NaN is neither.
  const GraphNumber fits =
      arithmetic::And(number >= 0.0, number <= static_cast<double>(most));
  Require(fits, wrong);
  if (number.known()) {
    return fits.number() != 0 ? static_cast<int64_t>(number.number()) : 0;
  }
  GraphBuilder& g = context_.builder();
  return IndexExpr(g, g.Cast(number.value(), DType::kI64)).Within(0, most);
}

Status PlanReader::ReadCrops() {
  if (!context_.HasInput(1)) {
    return NodeContext::Error(
        "input roi is not given, which tf_crop_and_resize needs");
  }
  const size_t count = plans_.size();
  ENCORE_ASSIGN_OR_RETURN(const Numbers roi,
                          NumbersInput(context_, 1, "roi", 2 * count));
  for (size_t i = 0; i < count; ++i) {
    plans_[i].numbers.crop_start = roi[i];
    plans_[i].numbers.crop_end = roi[count + i];
  }
  return OkStatus();
}

Status PlanReader::ReadSizes() {
  GraphBuilder& g = context_.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const IndexExprs sizes,
      ElementsOf(context_, 3, source_, plans_.size(), "axes"));
  const bool stretches = mode_.policy == AspectPolicy::kStretch;
  for (size_t i = 0; i < sizes.size(); ++i) plans_[i].to = sizes[i];
  if (stretches && !mode_.crops()) {
    std::erase_if(plans_, [](const AxisPlan& plan) {
      return (plan.to - plan.from).Is(0);
    });
  }
  std::vector<ResizedAxis<GraphNumber>> axes;
  for (const AxisPlan& plan : plans_) {
    axes.push_back(plan.numbers);
    axes.back().from = NumberOf(g, plan.from);
    axes.back().to = NumberOf(g, plan.to);
  }
  ApplySizes<GraphNumber>(mode_.policy, axes);
  for (size_t i = 0; i < plans_.size(); ++i) {
    AxisPlan& plan = plans_[i];
    plan.numbers = axes[i];
    const std::optional<int64_t> size = plan.to.constant();
    const std::string wrong = size ? Wrong(plan, *size) : "";
    if (!stretches) {
      plan.to = Integer(plan.numbers.to, kMaxResized, wrong);
    } else if (size) {
      shapes_.Require(*size >= 0 && *size <= kMaxResized, wrong);
    }
    shapes_.Require(Or(plan.from > 0, plan.to == 0), wrong);
  }
  return OkStatus();
}

IndexExpr PlanReader::Scaled(const AxisPlan& plan, std::string_view wrong) {
  const ResizedAxis<GraphNumber>& numbers = plan.numbers;
  if (plan.from.known() && !plan.from.constant() && numbers.scale.known()) {
    // A fraction, whose product with any extent is a double.
    double numerator = numbers.scale.number();
    int64_t divisor = 1;
    while (numerator != std::floor(numerator) && divisor < kMaxResized) {
      numerator *= 2;
      divisor *= 2;
    }
    const auto most = static_cast<double>(plan.from.UpperBound());
    if (numerator > 0 && numerator == std::floor(numerator) &&
        numerator * most <= 0x1p53) {
      return FloorDiv(plan.from * static_cast<int64_t>(numerator), divisor);
    }
  }
  return Integer(arithmetic::Floor(numbers.from * numbers.scale), kMaxResized,
                 wrong);
}

Status PlanReader::ReadScales() {
  GraphBuilder& g = context_.builder();
  ENCORE_ASSIGN_OR_RETURN(const Numbers scales,
                          NumbersInput(context_, 2, source_, plans_.size()));
  for (size_t i = 0; i < scales.size(); ++i) {
    plans_[i].numbers.scale = scales[i];
  }
  if (!mode_.crops()) {
    std::erase_if(plans_, [](const AxisPlan& plan) {
      return plan.numbers.scale.known() && plan.numbers.scale.number() == 1;
    });
  }
  for (AxisPlan& plan : plans_) {
    ResizedAxis<GraphNumber>& numbers = plan.numbers;
    const std::string wrong =
        numbers.scale.known() ? Wrong(plan, numbers.scale.number()) : "";
    numbers.from = NumberOf(g, plan.from);
    Require(numbers.scale > 0.0, wrong);
    plan.to = Scaled(plan, wrong);
    numbers.to = NumberOf(g, plan.to);
  }
  return OkStatus();
}

void PlanReader::DefineDims(AxisPlan* plan) {
  const bool is_data = !plan->to.known() || plan->to.constant();
  plan->size = shapes_.Define(
      plan->to, is_data ? std::optional<Dim>(kMaxResized) : std::nullopt);
  if (plan->known() || !plan->widens(mode_)) return;
  const GraphNumber shrink = ShrinkOf(mode_, plan->numbers);
  const GraphNumber taps = 2.0 - FirstTap(mode_, shrink) * 2.0;
  plan->taps = shapes_.Define(Integer(taps, 8 * kMaxResized, {}));
}

StatusOr<std::vector<AxisPlan>> PlanReader::Read(const Ints& axes,
                                                 const Shape& shape) {
  for (const int64_t raw : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context_.Axis(raw, shape.rank(), "attribute axes"));
    AxisPlan& plan = plans_.emplace_back();
    plan.axis = static_cast<int>(axis);
    plan.from = shapes_.Extent(shape[plan.axis]);
  }
  if (mode_.crops()) ENCORE_RETURN_IF_ERROR(ReadCrops());
  if (context_.HasInput(3)) {
    source_ = "sizes";
    ENCORE_RETURN_IF_ERROR(ReadSizes());
  } else if (context_.HasInput(2)) {
    source_ = "scales";
    ENCORE_RETURN_IF_ERROR(ReadScales());
  } else {
    return NodeContext::Error("neither input scales nor input sizes is given");
  }
  // Nothing stays nothing.
  std::erase_if(plans_, [](const AxisPlan& plan) {
    return plan.from.Is(0) && plan.to.Is(0);
  });
  for (AxisPlan& plan : plans_) DefineDims(&plan);
  return std::move(plans_);
}

Status Resize(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 4));
  ENCORE_ASSIGN_OR_RETURN(const ResizeMode mode, ReadMode(context));
  Value x = context.Input(0);
  const DType dtype = x.dtype();
  const Shape shape = context.shape(x);
  if (mode.interpolation != Interpolation::kNearest && !IsFloat(dtype) &&
      !IsInteger(dtype)) {
    return NodeContext::Error(
        StrCat("input X is ", x.type(),
               ", expected floats or integers where attribute mode is linear "
               "or cubic"));
  }
  Ints axes = AxesFrom(0, shape.rank());
  ENCORE_ASSIGN_OR_RETURN(axes, context.attributes().Ints("axes", axes));
  ENCORE_RETURN_IF_ERROR(
      context.AxesList(axes, shape.rank(), "attribute axes").status());
  PlanReader reader(context, mode);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<AxisPlan> plans,
                          reader.Read(axes, shape));
  ENCORE_ASSIGN_OR_RETURN(x, reader.Assert(x));
  // Integers are interpolated in f32 and rounded to the nearest.
  const bool rounds =
      mode.interpolation != Interpolation::kNearest && IsInteger(dtype);
  GraphBuilder& g = context.builder();
  if (rounds) x = g.Cast(x, DType::kF32);
  for (const AxisPlan& plan : plans) {
    ENCORE_ASSIGN_OR_RETURN(x, ResizeAxis(context, x, plan, mode));
  }
  for (size_t i = 0; mode.crops() && i < plans.size(); ++i) {
    x = Extrapolate(context, x, plans[i], mode);
  }
  return context.Output(0, rounds ? g.Cast(g.Round(x), dtype) : x);
}

constexpr Converter kConverters[] = {
    {"Resize", Resize, Op::kGather},
};

}  // namespace

std::span<const Converter> ResizeConverters() { return kConverters; }

}  // namespace encore::onnx
