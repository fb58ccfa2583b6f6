// Operators that make tensors from nothing: constants, and from positions
// triangles, identities, one-hot vectors, windows.

#include <array>
#include <numbers>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// column - row of the last two dims of `shape`, as i64 in that matrix.
Value Diagonals(GraphBuilder& g, const Shape& shape) {
  const int rank = shape.rank();
  const Shape matrix = {shape[rank - 2], shape[rank - 1]};
  return g.Sub(g.Iota(DType::kI64, matrix, 1), g.Iota(DType::kI64, matrix, 0));
}

// A scalar input, or a constant where it is left out.
Value ScalarInput(NodeContext& context, int i, int64_t fallback) {
  GraphBuilder& g = context.builder();
  if (!context.HasInput(i)) return g.Scalar(DType::kI64, fallback);
  const Value value = context.Input(i);
  return g.Cast(context.Reshape(value, {}), DType::kI64);
}

Status Trilu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool upper,
                          context.attributes().Bool("upper", true));
  const Value x = context.Input(0);
  if (x.rank() < 2) {
    return NodeContext::Error(
        StrCat("the input has rank ", x.rank(), ", expected matrices"));
  }
  const Value kept =
      g.Compare(Diagonals(g, context.shape(x)), ScalarInput(context, 1, 0),
                upper ? Comparison::kGe : Comparison::kLe);
  const Value zero = context.Scalar(x.dtype(), 0);
  return context.Output(0, g.Select(kept, x, zero));
}

// The dtype that attribute `name` says, or `fallback`.
StatusOr<DType> DTypeAttribute(NodeContext& context, std::string_view name,
                               DType fallback) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t number,
                          context.attributes().Int(name, 0));
  if (!context.attributes().Has(name)) return fallback;
  if (number < 0 || number > INT16_MAX) {
    return NodeContext::Error(StrCat("attribute ", name, " is ", number));
  }
  const StatusOr<DType> dtype = DTypeOf(static_cast<int32_t>(number));
  if (!dtype.ok()) return Annotate(dtype.status(), StrCat("attribute ", name));
  return dtype;
}

Status EyeLike(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  if (x.rank() != 2) {
    return NodeContext::Error(
        StrCat("the input has rank ", x.rank(), ", expected a matrix"));
  }
  ENCORE_ASSIGN_OR_RETURN(const DType dtype,
                          DTypeAttribute(context, "dtype", x.dtype()));
  ENCORE_ASSIGN_OR_RETURN(const int64_t k, context.attributes().Int("k", 0));
  const Value ones =
      g.Compare(Diagonals(g, context.shape(x)), k, Comparison::kEq);
  return context.Output(0, dtype == DType::kBool ? ones : g.Cast(ones, dtype));
}

// The depth as a dim: an integer, or a float that is one. Where data say it,
// `indices` are asserted on.
StatusOr<Dim> Depth(NodeContext& context, Value* indices) {
  constexpr std::string_view kWrong = "input depth is negative or too large";
  GraphBuilder& g = context.builder();
  const auto known = context.scope().AsDims(context.node().inputs[1]);
  if (known && known->dims.size() == 1) return known->dims[0];
  if (IsConstant(context, 1)) {
    ENCORE_ASSIGN_OR_RETURN(const Literal depth,
                            context.ConstantInput(1, "depth"));
    if (depth.element_count() != 1 || IsString(depth.dtype()) ||
        !(depth.AsDouble(0) >= 0 && depth.AsDouble(0) < INT32_MAX)) {
      return NodeContext::Error(kWrong);
    }
    return Dim(depth.AsInt(0));
  }
  const Value depth = context.Input(1);
  if (IsString(depth.dtype()) || !(depth.shape().ElementCount() == Dim(1))) {
    return NodeContext::Error(kWrong);
  }
  ShapeBuilder shapes(context);
  const Dim size = shapes.Define(
      {g, g.Cast(context.Reshape(depth, {}), DType::kI64)}, INT32_MAX - 1);
  ENCORE_ASSIGN_OR_RETURN(*indices, shapes.Assert(*indices, kWrong));
  return size;
}

Status OneHot(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  Value indices = context.Input(0);
  const Value values = context.Input(2);
  if (indices.rank() == 0) {
    return NodeContext::Error(
        "input indices is a scalar, expected rank 1 or more");
  }
  ENCORE_ASSIGN_OR_RETURN(const Dim depth, Depth(context, &indices));
  const int rank = indices.rank() + 1;
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis, context.AxisAttribute(-1, rank));
  if (values.rank() != 1 || !(values.shape()[0] == Dim(2))) {
    return NodeContext::Error(
        StrCat("input values is ", values.type(), ", expected [off, on]"));
  }
  if (indices.dtype() != DType::kI64) indices = g.Cast(indices, DType::kI64);
  const Value size = DimValue(context, depth);
  const Value wrapped = g.Select(g.Compare(indices, 0, Comparison::kLt),
                                 g.Add(indices, size), indices);
  ENCORE_RETURN_IF_ERROR(g.status());
  Dims dims = context.shape(indices).dims();
  dims.insert(dims.begin() + axis, depth);
  const Shape shape(std::move(dims));
  const Value hot =
      g.Compare(g.Iota(DType::kI64, shape, axis),
                context.Unsqueeze(wrapped, {axis}), Comparison::kEq);
  const Value off = context.Reshape(g.SliceAxis(values, 0, 0, 1), {});
  const Value on = context.Reshape(g.SliceAxis(values, 0, 1, 2), {});
  return context.Output(0, g.Select(hot, on, off));
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N one less for symmetric
// windows.
template <int kNumber>
Status Window(NodeContext& context) {
  constexpr std::array<std::array<double, 3>, 3> kCoefficients = {
      {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}}};
  const auto& [a0, a1, a2] = kCoefficients[kNumber];
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool periodic,
                          context.attributes().Bool("periodic", true));
  ENCORE_ASSIGN_OR_RETURN(
      const DType dtype,
      DTypeAttribute(context, "output_datatype", DType::kF32));
  ENCORE_ASSIGN_OR_RETURN(const IndexExpr size, ElementOf(context, 0, "size"));
  ShapeBuilder shapes(context);
  const Dim count = shapes.Define(size, kMaxSize);
  ENCORE_ASSIGN_OR_RETURN(
      Value length,
      shapes.Assert(size.ToValue(g), "input size is negative or too large"));
  length = g.Cast(length, DType::kF64);
  const Value n = g.Cast(CountTo(context, count), DType::kF64);
  if (!periodic) length = g.Sub(length, 1.0);
  const Value angle = g.Div(g.Mul(n, 2 * std::numbers::pi), length);
  Value window = g.Sub(a0, g.Mul(g.Cos(angle), a1));
  if (a2 != 0) window = g.Add(window, g.Mul(g.Cos(g.Mul(angle, 2.0)), a2));
  return context.Output(0, g.Cast(window, dtype));
}

// A scalar input, or a vector of one number, as f64.
StatusOr<Value> NumberInput(NodeContext& context, int i,
                            std::string_view name) {
  const Value input = context.Input(i);
  if (IsString(input.dtype()) || !(input.shape().ElementCount() == Dim(1))) {
    return NodeContext::Error(
        StrCat("input ", name, " is ", input.type(), ", expected one number"));
  }
  return context.builder().Cast(context.Reshape(input, {}), DType::kF64);
}

// Which bin of the spectrum the corner with each number is in.
Value MelCorners(GraphBuilder& g, Value numbers, Value bins, Value low_hertz,
                 Value high_hertz, Value bins_per_hertz) {
  const auto mel = [&](Value hertz) {
    const Value octaves = g.Log(g.Add(g.Div(hertz, 700.0), 1.0));
    return g.Mul(octaves, 2595 / std::numbers::ln10);
  };
  const Value low = mel(low_hertz), high = mel(high_hertz);
  const Value step = g.Div(g.Sub(high, low), g.Add(bins, 2.0));
  const Value at = g.Div(g.Add(g.Mul(numbers, step), low), 2595.0);
  const Value hertz = g.Mul(g.Sub(g.Pow(10.0, at), 1.0), 700.0);
  return g.Floor(g.Mul(hertz, bins_per_hertz));
}

// Triangles over the bins of a spectrum, their corners equally spaced in mel.
// As https://github.com/onnx/onnx/blob/main/docs/Operators.md#MelWeightMatrix.
Status MelWeightMatrix(NodeContext& context) {
  constexpr int64_t kMost = 1 << 24;
  constexpr std::string_view kNames[] = {"num_mel_bins", "dft_length",
                                         "sample_rate", "lower_edge_hertz",
                                         "upper_edge_hertz"};
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(5, 5));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const DType dtype,
      DTypeAttribute(context, "output_datatype", DType::kF32));
  ShapeBuilder shapes(context);
  std::array<Value, 5> given;
  for (int i = 0; i < 5; ++i) {
    ENCORE_ASSIGN_OR_RETURN(given[i], NumberInput(context, i, kNames[i]));
    shapes.Require(
        {g, g.And(g.Compare(given[i], i == 2 ? 1.0 : 0.0, Comparison::kGe),
                  g.Compare(given[i], double{kMost}, Comparison::kLt))});
  }
  const auto& [bins, length, rate, low, high] = given;
  const auto size = [&](Value number) {
    return IndexExpr(g, g.Cast(number, DType::kI64)).Within(0, kMost);
  };
  const Dim columns = shapes.Define(size(bins), kMost);
  const Dim rows = shapes.Define(FloorDiv(size(length), 2) + 1, kMost);
  ENCORE_ASSIGN_OR_RETURN(
      const Value bins_per_hertz,
      shapes.Assert(g.Div(g.Add(length, 1.0), rate),
                    "an input is negative or larger than 2^24 - 1"));
  const Value numbers = g.Cast(CountTo(context, columns), DType::kF64);
  const auto corner = [&](double number) {
    return MelCorners(g, g.Add(numbers, number), bins, low, high,
                      bins_per_hertz);
  };
  const Value left = corner(0), middle = corner(1), right = corner(2);
  const Value at =
      g.Cast(g.Unsqueeze(CountTo(context, rows), {1}), DType::kF64);
  const auto within = [&](Value from, Value to) {
    return g.And(g.Compare(at, from, Comparison::kGe),
                 g.Compare(at, to, Comparison::kLt));
  };
  const Value up = g.Div(g.Sub(at, left), g.Max(g.Sub(middle, left), 1.0));
  const Value down = g.Div(g.Sub(right, at), g.Max(g.Sub(right, middle), 1.0));
  // A triangle has its peak though it is narrower than a bin.
  const Value weights =
      g.Select(within(middle, right), down,
               g.Select(within(left, middle), up,
                        g.Cast(g.And(g.Compare(at, middle, Comparison::kEq),
                                     g.Compare(left, middle, Comparison::kLe)),
                               DType::kF64)));
  return context.Output(0, g.Cast(weights, dtype));
}

// REQUIRES that the node has the attribute.
StatusOr<Literal> TensorAttribute(NodeContext& context, std::string_view name,
                                  AttributeType type) {
  ENCORE_ASSIGN_OR_RETURN(const Tensor* tensor,
                          context.attributes().TensorValue(name, type));
  StatusOr<Literal> literal = ToLiteral(*tensor, context.source());
  if (literal.ok()) return literal;
  return Annotate(literal.status(), StrCat("attribute ", name));
}

// Constant has one of the attributes that hold a value.
Status CheckOneValue(const Node& node) {
  const Attribute* first = nullptr;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != "sparse_value" &&
        !attribute.name.starts_with("value")) {
      continue;
    }
    if (first != nullptr) {
      return NodeContext::Error(StrCat("attributes ", first->name, " and ",
                                       attribute.name, " both hold the value"));
    }
    first = &attribute;
  }
  return OkStatus();
}

Status Constant(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(0, 0));
  ENCORE_RETURN_IF_ERROR(CheckOneValue(context.node()));
  AttributeReader& attributes = context.attributes();
  Literal literal;
  bool is_weight = false;
  if (attributes.Has("value")) {
    ENCORE_ASSIGN_OR_RETURN(
        literal, TensorAttribute(context, "value", AttributeType::kTensor));
    is_weight = IsWeight(literal);
  } else if (attributes.Has("sparse_value")) {
    ENCORE_ASSIGN_OR_RETURN(
        literal,
        TensorAttribute(context, "sparse_value", AttributeType::kSparseTensor));
    is_weight = IsWeight(literal);
  } else if (attributes.Has("value_int")) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t value,
                            attributes.Int("value_int", 0));
    literal = Literal::Scalar(value);
  } else if (attributes.Has("value_ints")) {
    ENCORE_ASSIGN_OR_RETURN(const Ints values,
                            attributes.Ints("value_ints", {}));
    literal = Literal::Vector<int64_t>(values);
  } else if (attributes.Has("value_float")) {
    ENCORE_ASSIGN_OR_RETURN(const float value,
                            attributes.Float("value_float", 0));
    literal = Literal::Scalar(value);
  } else if (attributes.Has("value_floats")) {
    ENCORE_ASSIGN_OR_RETURN(const auto values,
                            attributes.Floats("value_floats"));
    literal = Literal::Vector<float>(values);
  } else if (attributes.Has("value_string")) {
    ENCORE_ASSIGN_OR_RETURN(std::string value,
                            attributes.String("value_string", ""));
    literal = Literal::Strings({}, {std::move(value)});
  } else if (attributes.Has("value_strings")) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<std::string> values,
                            attributes.Strings("value_strings"));
    const auto count = static_cast<int64_t>(values.size());
    literal = Literal::Strings({count}, std::move(values));
  } else {
    return NodeContext::Error("there is no attribute that holds the value");
  }
  return context.Output(
      0, Bound{std::nullopt, std::move(literal), std::nullopt, is_weight});
}

Status ConstantOfShape(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(0, "input"));
  Literal value;
  if (context.attributes().Has("value")) {
    ENCORE_ASSIGN_OR_RETURN(
        value, TensorAttribute(context, "value", AttributeType::kTensor));
    if (value.element_count() != 1) {
      return NodeContext::Error(StrCat("attribute value has ",
                                       value.element_count(),
                                       " elements, expected 1"));
    }
  }
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs dims,
                          ElementsOf(context, 0, "shape"));
  ShapeBuilder shapes(context);
  Dims shape;
  for (const IndexExpr& dim : dims) shape.push_back(shapes.Define(dim));
  ENCORE_ASSIGN_OR_RETURN(
      const Value scalar,
      shapes.Assert(
          context.builder().Constant(value.Reshaped({})),
          "the first input, the shape of the result, has an entry that is "
          "negative or too large"));
  return context.Output(0, context.Fill(scalar, Shape(std::move(shape))));
}

constexpr Converter kConverters[] = {
    {"BlackmanWindow", Window<2>, Op::kCos},
    {"Constant", Constant, Op::kConstant},
    {"ConstantOfShape", ConstantOfShape, Op::kBroadcast},
    {"EyeLike", EyeLike, Op::kCompare},
    {"HammingWindow", Window<1>, Op::kCos},
    {"HannWindow", Window<0>, Op::kCos},
    {"MelWeightMatrix", MelWeightMatrix, Op::kPow},
    {"OneHot", OneHot, Op::kCompare},
    {"Trilu", Trilu, Op::kSelect},
};

}  // namespace

std::span<const Converter> ConstructConverters() { return kConverters; }

}  // namespace encore::onnx
