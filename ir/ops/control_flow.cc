#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

const TensorType kCondition{DType::kBool, Shape(), ValueKind::kTensor};
const TensorType kCount{DType::kI64, Shape(), ValueKind::kTensor};

using TypeList = std::span<const TensorType>;

std::string Text(const InferContext& context, TypeList types) {
  return StrCat("(",
                StrJoin(types, ", ",
                        [&](std::string* out, const TensorType& type) {
                          out->append(type.ToString(context.symbols));
                        }),
                ")");
}

// `what` ("inputs of body 1") are of these types.
Status CheckTypes(const InferContext& context, std::string_view what,
                  TypeList types, TypeList expected) {
  if (std::equal(types.begin(), types.end(), expected.begin(),
                 expected.end())) {
    return OkStatus();
  }
  return context.Error(StrCat(what, " are ", Text(context, types),
                              ", expected ", Text(context, expected)));
}

Status CheckOperand(const InferContext& context, int i,
                    const TensorType& expected) {
  if (context.operand(i) == expected) return OkStatus();
  return context.Error(StrCat(
      "operand ", i, " is ", context.operand(i).ToString(context.symbols),
      ", expected ", expected.ToString(context.symbols)));
}

Status CheckCount(const InferContext& context, std::string_view name,
                  int64_t count, size_t limit) {
  if (count >= 0 && static_cast<uint64_t>(count) <= limit) return OkStatus();
  return context.Error(StrCat("attribute ", name, " is ", count,
                              ", expected a count in [0, ", limit, "]"));
}

Status CheckTensor(const InferContext& context, const TensorType& type) {
  if (type.kind == ValueKind::kTensor) return OkStatus();
  return context.Error(StrCat(type.ToString(context.symbols),
                              " cannot be stacked, expected a tensor"));
}

std::vector<TensorType> Concatenate(std::initializer_list<TypeList> lists) {
  std::vector<TensorType> all;
  for (const TypeList list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

// The parts of a scan's operands and body outputs.
struct ScanParts {
  TypeList carried, scanned, captures, stacked;
};

StatusOr<ScanParts> SplitScan(const InferContext& context) {
  const ScanAttrs& attrs = context.attrs<ScanAttrs>();
  const TypeList operands = context.operands;
  const TypeList outputs = context.bodies[0].outputs;
  ENCORE_RETURN_IF_ERROR(CheckCount(context, "carried", attrs.carried,
                                    std::min(operands.size(), outputs.size())));
  ENCORE_RETURN_IF_ERROR(CheckCount(context, "captures", attrs.captures,
                                    operands.size() - attrs.carried));
  const size_t scanned = operands.size() - attrs.carried - attrs.captures;
  if (scanned == 0) {
    return context.Error(StrCat("attributes carried and captures are ",
                                attrs.carried, " and ", attrs.captures, " of ",
                                operands.size(),
                                " operands, expected one to scan"));
  }
  const ScanParts parts = {
      operands.first(attrs.carried), operands.subspan(attrs.carried, scanned),
      operands.last(attrs.captures), outputs.subspan(attrs.carried)};
  const size_t count = scanned + parts.stacked.size();
  ENCORE_RETURN_IF_ERROR(
      CheckLength(context, "scan_axes", attrs.scan_axes.size(), count));
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "directions", attrs.directions, count, 0));
  for (const int64_t direction : attrs.directions) {
    if (direction > 1) {
      return context.Error(
          StrCat("attribute directions has ", direction, ", expected 0 or 1"));
    }
  }
  return parts;
}

}  // namespace

Types InferIf(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckOperand(context, 0, kCondition));
  const TypeList rest = context.operands.subspan(1);
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "inputs of body 0", context.bodies[0].inputs, rest));
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "inputs of body 1", context.bodies[1].inputs, rest));
  ENCORE_RETURN_IF_ERROR(CheckTypes(context, "outputs of body 1",
                                    context.bodies[1].outputs,
                                    context.bodies[0].outputs));
  return context.bodies[0].outputs;
}

Types InferWhile(const InferContext& context) {
  const BodyTypes &condition = context.bodies[0], &step = context.bodies[1];
  ENCORE_RETURN_IF_ERROR(CheckTypes(context, "inputs of body 0",
                                    condition.inputs, context.operands));
  ENCORE_RETURN_IF_ERROR(CheckTypes(context, "outputs of body 0",
                                    condition.outputs, {&kCondition, 1}));
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "inputs of body 1", step.inputs, context.operands));
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "outputs of body 1", step.outputs, context.operands));
  return step.outputs;
}

Types InferLoop(const InferContext& context) {
  const LoopAttrs& attrs = context.attrs<LoopAttrs>();
  const BodyTypes& body = context.bodies[0];
  ENCORE_RETURN_IF_ERROR(CheckOperand(context, 0, kCount));
  ENCORE_RETURN_IF_ERROR(CheckOperand(context, 1, kCondition));
  const TypeList values = context.operands.subspan(2);
  ENCORE_RETURN_IF_ERROR(
      CheckCount(context, "carried", attrs.carried, values.size()));
  if (attrs.max_trips < -1) {
    return context.Error(StrCat("attribute max_trips is ", attrs.max_trips,
                                ", expected a count, or -1"));
  }
  const TypeList carried = values.first(attrs.carried);
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "inputs of body 0", body.inputs,
                 Concatenate({{&kCount, 1}, {&kCondition, 1}, values})));
  const TypeList outputs = body.outputs;
  const size_t fixed = 1 + carried.size();
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "first outputs of body 0",
                 outputs.first(std::min(fixed, outputs.size())),
                 Concatenate({{&kCondition, 1}, carried})));
  const TypeList stacked = outputs.subspan(fixed);
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "trips", attrs.trips.size(),
                                     stacked.empty() ? 0 : 1));
  std::vector<TensorType> results(carried.begin(), carried.end());
  for (TensorType type : stacked) {
    ENCORE_RETURN_IF_ERROR(CheckTensor(context, type));
    std::vector<Dim>& dims = type.shape.mutable_dims();
    dims.insert(dims.begin(), attrs.trips[0]);
    results.push_back(std::move(type));
  }
  return results;
}

Types InferScan(const InferContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const ScanParts parts, SplitScan(context));
  const Ints& axes = context.attrs<ScanAttrs>().scan_axes;
  std::optional<Dim> length;
  std::vector<TensorType> slices;
  for (size_t i = 0; i < parts.scanned.size(); ++i) {
    TensorType type = parts.scanned[i];
    ENCORE_RETURN_IF_ERROR(CheckTensor(context, type));
    ENCORE_RETURN_IF_ERROR(
        CheckAxis(context, "scan_axes", axes[i], type.shape.rank()));
    const Dim extent = type.shape[static_cast<int>(axes[i])];
    if (length && *length != extent) {
      return context.Error(
          StrCat("scanned extents ", length->ToString(context.symbols), " and ",
                 extent.ToString(context.symbols), ", expected one length"));
    }
    length = extent;
    type.shape = WithoutAxes(type.shape, {&axes[i], 1});
    slices.push_back(std::move(type));
  }
  const BodyTypes& body = context.bodies[0];
  ENCORE_RETURN_IF_ERROR(
      CheckTypes(context, "inputs of body 0", body.inputs,
                 Concatenate({parts.carried, slices, parts.captures})));
  ENCORE_RETURN_IF_ERROR(CheckTypes(
      context, "first outputs of body 0",
      TypeList(body.outputs).first(parts.carried.size()), parts.carried));
  std::vector<TensorType> results(parts.carried.begin(), parts.carried.end());
  for (size_t i = 0; i < parts.stacked.size(); ++i) {
    TensorType type = parts.stacked[i];
    const int64_t axis = axes[parts.scanned.size() + i];
    ENCORE_RETURN_IF_ERROR(CheckTensor(context, type));
    ENCORE_RETURN_IF_ERROR(
        CheckAxis(context, "scan_axes", axis, type.shape.rank() + 1));
    std::vector<Dim>& dims = type.shape.mutable_dims();
    dims.insert(dims.begin() + axis, *length);
    results.push_back(std::move(type));
  }
  return results;
}

Types InferCustom(const InferContext& context) {
  const CustomAttrs& attrs = context.attrs<CustomAttrs>();
  ENCORE_RETURN_IF_ERROR(
      CheckEach(context, "ranks", attrs.ranks, attrs.dtypes.size(), 0));
  std::vector<TensorType> results;
  size_t next = 0;
  for (size_t i = 0; i < attrs.dtypes.size(); ++i) {
    const int64_t dtype = attrs.dtypes[i];
    if (dtype < 0 || dtype > 255 || !IsValidDType(dtype)) {
      return context.Error(StrCat("attribute dtypes has ", dtype,
                                  ", expected the number of a dtype"));
    }
    const size_t rank = static_cast<size_t>(attrs.ranks[i]);
    if (rank > kMaxRank || rank > attrs.dims.size() - next) {
      return context.Error(StrCat("attribute ranks has ", rank,
                                  ", expected at most ",
                                  attrs.dims.size() - next, ", the dims left"));
    }
    const auto dims = std::span(attrs.dims).subspan(next, rank);
    results.push_back({static_cast<DType>(dtype),
                       Shape(std::vector<Dim>(dims.begin(), dims.end())),
                       ValueKind::kTensor});
    next += rank;
  }
  ENCORE_RETURN_IF_ERROR(CheckLength(context, "dims", attrs.dims.size(), next));
  return results;
}

}  // namespace encore::ops
