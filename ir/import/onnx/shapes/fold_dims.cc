#include "encore/ir/import/onnx/shapes/fold_dims.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Folded = StatusOr<std::optional<KnownDims>>;

std::optional<KnownDims> Known(NodeContext& context, int i) {
  if (!context.HasInput(i)) return std::nullopt;
  return context.scope().AsDims(context.node().inputs[i]);
}

// Input i as constant integers, nothing where it is not known.
std::optional<Ints> KnownInts(NodeContext& context, int i) {
  const std::optional<KnownDims> known = Known(context, i);
  if (!known) return std::nullopt;
  Ints ints;
  for (const Dim& dim : known->dims) {
    if (!dim.is_constant()) return std::nullopt;
    ints.push_back(dim.constant());
  }
  return ints;
}

Folded FoldShape(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const Shape shape = context.shape(context.Input(0));
  const int64_t rank = shape.rank();
  ENCORE_ASSIGN_OR_RETURN(int64_t start, context.attributes().Int("start", 0));
  ENCORE_ASSIGN_OR_RETURN(int64_t end, context.attributes().Int("end", rank));
  const auto clamp = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return KnownDims{
      Dims(shape.dims().begin() + start, shape.dims().begin() + end), false};
}

Folded FoldSize(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  return KnownDims{{context.shape(context.Input(0)).ElementCount()}, true};
}

Folded FoldGather(NodeContext& context) {
  const auto data = Known(context, 0);
  const auto indices = KnownInts(context, 1);
  if (!data || !indices || data->scalar) return std::optional<KnownDims>();
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.attributes().Int("axis", 0));
  ENCORE_RETURN_IF_ERROR(context.Axis(axis, 1, "attribute axis").status());
  KnownDims result{{}, Known(context, 1)->scalar, data->dtype};
  const auto size = static_cast<int64_t>(data->dims.size());
  for (const int64_t index : *indices) {
    if (index < -size || index >= size) {
      return NodeContext::Error(
          StrCat("index ", index, " is outside of ", size, " elements"));
    }
    result.dims.push_back(data->dims[index < 0 ? index + size : index]);
  }
  return result;
}

// Whether `axes`, where they are given, name the axis of a vector.
bool IsTheOnlyAxis(const std::optional<Ints>& axes) {
  return !axes ||
         (axes->size() == 1 && (axes->front() == 0 || axes->front() == -1));
}

Folded FoldSlice(NodeContext& context) {
  const auto data = Known(context, 0);
  const auto starts = KnownInts(context, 1), ends = KnownInts(context, 2);
  const auto axes = KnownInts(context, 3), steps = KnownInts(context, 4);
  if (!data || data->scalar || !starts || !ends || starts->size() != 1 ||
      ends->size() != 1 || (context.HasInput(3) && !axes) ||
      (context.HasInput(4) && (!steps || steps->size() != 1))) {
    return std::optional<KnownDims>();
  }
  const auto size = static_cast<int64_t>(data->dims.size());
  const int64_t step = steps ? steps->front() : 1;
  if (step <= 0 || !IsTheOnlyAxis(axes)) return std::optional<KnownDims>();
  const auto clamp = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  KnownDims result{{}, false, data->dtype};
  for (int64_t i = clamp(starts->front()); i < clamp(ends->front());
       i += step) {
    result.dims.push_back(data->dims[i]);
    if (step > size) break;
  }
  return result;
}

Folded FoldConcat(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.attributes().RequiredInt("axis"));
  if (!IsTheOnlyAxis(Ints{axis})) return std::optional<KnownDims>();
  KnownDims result;
  for (int i = 0; i < context.input_count(); ++i) {
    const auto part = Known(context, i);
    if (!part || part->scalar) return std::optional<KnownDims>();
    result.dims.insert(result.dims.end(), part->dims.begin(), part->dims.end());
    result.dtype = part->dtype;
    // Or a chain of these would double what it knows with each.
    if (result.dims.size() > kMaxKnownDims) return std::optional<KnownDims>();
  }
  return result;
}

// Squeeze from a vector of one element to a scalar, and Unsqueeze back.
Folded FoldRankChange(NodeContext& context, bool scalar) {
  auto data = Known(context, 0);
  if (!data || data->dims.size() != 1 || data->scalar == scalar ||
      !IsTheOnlyAxis(KnownInts(context, 1))) {
    return std::optional<KnownDims>();
  }
  data->scalar = scalar;
  return data;
}

Folded FoldReshape(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckVector(1, "shape"));
  const auto data = Known(context, 0);
  const auto shape = KnownInts(context, 1);
  if (!data || !shape || shape->size() > 1) return std::optional<KnownDims>();
  const auto size = static_cast<int64_t>(data->dims.size());
  const bool fits = shape->empty() ? size == 1
                                   : shape->front() == -1 ||
                                         (shape->front() == size && size > 0);
  if (!fits) return std::optional<KnownDims>();
  return std::optional(KnownDims{data->dims, shape->empty(), data->dtype});
}

Folded FoldCast(NodeContext& context) {
  auto data = Known(context, 0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t to,
                          context.attributes().RequiredInt("to"));
  context.attributes().Ignore("saturate");
  if (to == static_cast<int64_t>(ElementType::kInt64)) {
    data->dtype = DType::kI64;
  } else if (to == static_cast<int64_t>(ElementType::kInt32)) {
    data->dtype = DType::kI32;
  } else {
    return std::optional<KnownDims>();
  }
  return data;
}

Folded FoldBinary(NodeContext& context, Dim (*apply)(const Dim&, const Dim&)) {
  const auto a = Known(context, 0), b = Known(context, 1);
  if (!a || !b) return std::optional<KnownDims>();
  const size_t size = std::max(a->dims.size(), b->dims.size());
  if ((a->dims.size() != size && a->dims.size() != 1) ||
      (b->dims.size() != size && b->dims.size() != 1)) {
    return std::optional<KnownDims>();
  }
  KnownDims result{{}, a->scalar && b->scalar, a->dtype};
  for (size_t i = 0; i < size; ++i) {
    result.dims.push_back(apply(a->dims[a->dims.size() == 1 ? 0 : i],
                                b->dims[b->dims.size() == 1 ? 0 : i]));
    if (!result.dims.back().valid()) return std::optional<KnownDims>();
  }
  return result;
}

// Truncating division is floor division where nothing is negative.
bool AreExtents(const std::optional<KnownDims>& known,
                std::span<const Symbol> symbols, int64_t least) {
  return known && std::all_of(known->dims.begin(), known->dims.end(),
                              [&](const Dim& dim) {
                                return dim.LowerBound(symbols) >= least;
                              });
}

Folded FoldDiv(NodeContext& context) {
  const auto symbols = context.builder().graph().symbols();
  if (!AreExtents(Known(context, 0), symbols, 0) ||
      !AreExtents(Known(context, 1), symbols, 1)) {
    return std::optional<KnownDims>();
  }
  return FoldBinary(context,
                    [](const Dim& a, const Dim& b) { return FloorDiv(a, b); });
}

}  // namespace

Folded FoldDims(NodeContext& context) {
  const std::string_view op = context.node().op_type;
  if (op == "Shape") return FoldShape(context);
  if (op == "Size") return FoldSize(context);
  // From here on every input must be known.
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.HasInput(i)) continue;
    const Bound* bound = context.scope().Find(context.node().inputs[i]);
    if (bound == nullptr || (!bound->dims && !bound->constant)) {
      return std::optional<KnownDims>();
    }
  }
  if (op == "Gather") return FoldGather(context);
  if (op == "Slice") return FoldSlice(context);
  if (op == "Concat") return FoldConcat(context);
  if (op == "Squeeze") return FoldRankChange(context, true);
  if (op == "Unsqueeze") return FoldRankChange(context, false);
  if (op == "Reshape") return FoldReshape(context);
  if (op == "Cast") return FoldCast(context);
  if (op == "Identity") return Known(context, 0);
  if (op == "Div") return FoldDiv(context);
  using Apply = Dim (*)(const Dim&, const Dim&);
  constexpr std::pair<std::string_view, Apply> kBinary[] = {
      {"Add", [](const Dim& a, const Dim& b) { return a + b; }},
      {"Sub", [](const Dim& a, const Dim& b) { return a - b; }},
      {"Mul", [](const Dim& a, const Dim& b) { return a * b; }},
      {"Max", [](const Dim& a, const Dim& b) { return Max(a, b); }},
      {"Min", [](const Dim& a, const Dim& b) { return Min(a, b); }}};
  for (const auto& [name, apply] : kBinary) {
    if (op == name) return FoldBinary(context, apply);
  }
  return std::optional<KnownDims>();
}

}  // namespace encore::onnx
