#include "encore/ir/import/onnx/scope/context.h"

#include <algorithm>

#include "encore/ir/import/onnx/scope/declared.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {

Ints AxesFrom(int64_t first, int64_t rank) {
  Ints axes;
  for (int64_t i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

Status NodeContext::CheckInputs(int least, int most) const {
  if (input_count() < least || input_count() > most) {
    return Error(StrCat(input_count(), " inputs, expected ", least,
                        least == most ? "" : StrCat(" to ", most)));
  }
  for (int i = 0; i < least; ++i) {
    if (!HasInput(i)) return Error(StrCat("input ", i, " is left out"));
  }
  return OkStatus();
}

Status NodeContext::CheckOutputs(int most) const {
  if (node_.outputs.empty() || static_cast<int>(node_.outputs.size()) > most) {
    return Error(
        StrCat(node_.outputs.size(), " outputs, expected 1 to ", most));
  }
  return OkStatus();
}

std::vector<Value> NodeContext::Inputs() {
  std::vector<Value> values;
  for (int i = 0; i < input_count(); ++i) {
    if (HasInput(i)) values.push_back(Input(i));
  }
  return values;
}

StatusOr<Literal> NodeContext::ConstantInput(int i, std::string_view what) {
  std::optional<Literal> constant = scope_.Constant(node_.inputs[i]);
  if (constant) return *std::move(constant);
  scope_.ReadWeightsBehind(node_.inputs[i]);
  return Unknown(StrCat("input ", what, " (", Quote(node_.inputs[i]),
                        ") must be known when the model is compiled, "
                        "but depends on data or on an unbound "
                        "dimension"));
}

StatusOr<std::vector<int64_t>> NodeContext::IntsInput(int i,
                                                      std::string_view what) {
  ENCORE_ASSIGN_OR_RETURN(const Literal literal, ConstantInput(i, what));
  if (!IsInteger(literal.dtype()) || literal.rank() > 1) {
    return Error(StrCat("input ", what, " is ", literal.type(),
                        ", expected a vector of integers"));
  }
  std::vector<int64_t> values(literal.element_count());
  for (size_t k = 0; k < values.size(); ++k) values[k] = literal.AsInt(k);
  return values;
}

StatusOr<std::vector<double>> NodeContext::FloatsInput(int i,
                                                       std::string_view what) {
  ENCORE_ASSIGN_OR_RETURN(const Literal literal, ConstantInput(i, what));
  if (!IsFloat(literal.dtype()) || literal.rank() > 1) {
    return Error(StrCat("input ", what, " is ", literal.type(),
                        ", expected a vector of floats"));
  }
  std::vector<double> values(literal.element_count());
  for (size_t k = 0; k < values.size(); ++k) values[k] = literal.AsDouble(k);
  return values;
}

StatusOr<Dims> NodeContext::DimsInput(int i, std::string_view what) {
  std::optional<KnownDims> known = scope_.AsDims(node_.inputs[i]);
  if (known) return std::move(known->dims);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<int64_t> ints, IntsInput(i, what));
  return Dims(ints.begin(), ints.end());
}

StatusOr<int64_t> NodeContext::Axis(int64_t axis, int64_t rank,
                                    std::string_view what) const {
  if (axis < -rank || axis >= rank) {
    return Error(StrCat(what, " ", axis, " is outside of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

StatusOr<int64_t> NodeContext::AxisAttribute(int64_t fallback, int64_t rank) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          attributes_.Int("axis", fallback));
  return Axis(axis, rank, "attribute axis");
}

StatusOr<Ints> NodeContext::AxesList(const Ints& axes, int64_t rank,
                                     std::string_view what) const {
  Ints result;
  for (const int64_t axis : axes) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t positive, Axis(axis, rank, what));
    result.push_back(positive);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    return Error(StrCat(what, " [", StrJoin(axes, ","), "] repeat"));
  }
  return result;
}

Status NodeContext::CheckVector(int i, std::string_view what) {
  const TensorType type = TypeOfBound(*scope_.Find(node_.inputs[i]));
  if (type.shape.rank() == 1) return OkStatus();
  return Error(
      StrCat("input ", what, " is ", type.ToString(), ", expected a vector"));
}

Value NodeContext::Scalar(DType dtype, double value) {
  Literal literal(dtype, {});
  // A string that nobody gave is empty.
  if (!IsString(dtype)) literal.SetDouble(0, value);
  return builder().Constant(std::move(literal));
}

Value NodeContext::Fill(Value scalar, const Shape& shape) {
  return Emit(Op::kBroadcast, {scalar}, BroadcastAttrs{shape.dims(), {}});
}

Value NodeContext::Unsqueeze(Value value, const Ints& axes) {
  Dims dims = shape(value).dims();
  for (const int64_t axis : axes) {
    if (axis > static_cast<int64_t>(dims.size())) return value;
    dims.insert(dims.begin() + axis, 1);
  }
  return Reshape(value, std::move(dims));
}

Value NodeContext::TakeAlong(Value x, Value indices, int64_t axis,
                             OutOfRange out_of_range) {
  GatherAttrs gather;
  gather.out_of_range = out_of_range;
  for (int i = 0; i < x.rank(); ++i) {
    gather.slice_sizes.push_back(1);
    if (i == axis) continue;
    gather.operand_batching_dims.push_back(i);
    gather.start_indices_batching_dims.push_back(i);
  }
  gather.collapsed_slice_dims = {axis};
  gather.start_index_map = {axis};
  gather.index_vector_dim = x.rank();
  return Emit(Op::kGather, {x, indices}, std::move(gather));
}

Value NodeContext::PerChannel(Value vector, int rank) {
  Dims dims(std::max(rank - 1, 1), 1);
  dims[0] = shape(vector).ElementCount();
  return Reshape(vector, std::move(dims));
}

Status NodeContext::Output(int i, Value value) {
  Bound bound{value, std::nullopt, std::nullopt};
  if (value.valid() && value.constant() != nullptr)
    bound.constant = *value.constant();
  return Output(i, std::move(bound));
}

Status NodeContext::Output(int i, Bound bound) {
  if (!WantsOutput(i)) return OkStatus();
  return scope_.Bind(node_.outputs[i], std::move(bound));
}

}  // namespace encore::onnx
