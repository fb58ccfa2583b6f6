#include "encore/ir/import/onnx/format/upgrade.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "encore/ir/import/onnx/format/attribute_reader.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using StepFunction = Status (*)(Node& node, UpgradeStore& store);

// A change of an operator: nodes of an opset below `opset` take it.
struct Step {
  int64_t opset;
  std::string_view op_type;
  StepFunction upgrade;
};

void RemoveAttribute(Node& node, std::string_view name) {
  std::erase_if(node.attributes, [&](const Attribute& attribute) {
    return attribute.name == name;
  });
}

const Attribute* FindAttribute(const Node& node, std::string_view name) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

void SetFlag(Node& node, std::string_view name) {
  node.attributes.push_back(
      {.name = name, .type = AttributeType::kInt, .i = 1});
}

// Makes `tensor` input `position` of the node.
void SetInput(Node& node, size_t position, Tensor tensor, UpgradeStore& store) {
  store.names.push_back(StrCat("encore.constant.", store.tensors.size()));
  tensor.name = store.names.back();
  if (node.inputs.size() <= position) node.inputs.resize(position + 1);
  node.inputs[position] = tensor.name;
  store.tensors.push_back(std::move(tensor));
}

void SetInput(Node& node, size_t position, std::vector<int64_t> values,
              UpgradeStore& store, bool scalar = false) {
  Tensor tensor;
  tensor.data_type = static_cast<int32_t>(ElementType::kInt64);
  if (!scalar) tensor.dims = {static_cast<int64_t>(values.size())};
  tensor.int64_data = std::move(values);
  SetInput(node, position, std::move(tensor), store);
}

void SetInput(Node& node, size_t position, std::vector<float> values,
              bool scalar, UpgradeStore& store) {
  Tensor tensor;
  tensor.data_type = static_cast<int32_t>(ElementType::kFloat);
  if (!scalar) tensor.dims = {static_cast<int64_t>(values.size())};
  tensor.float_data = std::move(values);
  SetInput(node, position, std::move(tensor), store);
}

// Turns the list attribute `name` into input `position`; absent, nothing
// happens.
Status IntsToInput(Node& node, std::string_view name, size_t position,
                   UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(auto values, reader.OptionalInts(name));
  if (!values) return OkStatus();
  SetInput(node, position, *std::move(values), store);
  RemoveAttribute(node, name);
  return OkStatus();
}

Status AxesToInput(Node& node, UpgradeStore& store) {
  return IntsToInput(node, "axes", 1, store);
}

// Until opset 13 the input counted as a matrix whose rows end before `axis`.
Status FlattenedSoftmax(Node& node, UpgradeStore&) {
  if (FindAttribute(node, "axis") == nullptr) {
    node.attributes.push_back(
        {.name = "axis", .type = AttributeType::kInt, .i = 1});
  }
  SetFlag(node, "encore.flattened");
  return OkStatus();
}

// Until opset 7 the second operand was broadcast on demand, aligned at `axis`.
Status AxisBroadcast(Node& node, UpgradeStore&) {
  RemoveAttribute(node, "consumed_inputs");
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(const int64_t broadcast, reader.Int("broadcast", 0));
  RemoveAttribute(node, "broadcast");
  if (broadcast == 0) RemoveAttribute(node, "axis");
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == "axis") attribute.name = "encore.axis";
  }
  return OkStatus();
}

Status DropConsumedInputs(Node& node, UpgradeStore&) {
  RemoveAttribute(node, "consumed_inputs");
  return OkStatus();
}

Status OldSelu(Node& node, UpgradeStore& store) {
  if (FindAttribute(node, "alpha") == nullptr) {
    node.attributes.push_back(
        {.name = "alpha", .type = AttributeType::kFloat, .f = 1.6732f});
  }
  if (FindAttribute(node, "gamma") == nullptr) {
    node.attributes.push_back(
        {.name = "gamma", .type = AttributeType::kFloat, .f = 1.0507f});
  }
  return DropConsumedInputs(node, store);
}

Status ClipBounds(Node& node, UpgradeStore& store) {
  RemoveAttribute(node, "consumed_inputs");
  const std::string_view names[] = {"min", "max"};
  for (size_t i = 0; i < 2; ++i) {
    AttributeReader reader(node);
    if (!reader.Has(names[i])) continue;
    ENCORE_ASSIGN_OR_RETURN(const float bound, reader.Float(names[i], 0));
    SetInput(node, 1 + i, {bound}, /*scalar=*/true, store);
    RemoveAttribute(node, names[i]);
  }
  return OkStatus();
}

Status OldPadName(Node& node, UpgradeStore&) {
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == "paddings") attribute.name = "pads";
  }
  return OkStatus();
}

Status PadInputs(Node& node, UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(auto pads, reader.RequiredInts("pads"));
  ENCORE_ASSIGN_OR_RETURN(const float value, reader.Float("value", 0));
  SetInput(node, 1, std::move(pads), store);
  SetInput(node, 2, {value}, /*scalar=*/true, store);
  RemoveAttribute(node, "pads");
  RemoveAttribute(node, "value");
  return OkStatus();
}

Status SliceInputs(Node& node, UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(auto starts, reader.RequiredInts("starts"));
  ENCORE_ASSIGN_OR_RETURN(auto ends, reader.RequiredInts("ends"));
  SetInput(node, 1, std::move(starts), store);
  SetInput(node, 2, std::move(ends), store);
  RemoveAttribute(node, "starts");
  RemoveAttribute(node, "ends");
  return IntsToInput(node, "axes", 3, store);
}

Status SplitInput(Node& node, UpgradeStore& store) {
  return IntsToInput(node, "split", 1, store);
}

// From opset 18 on a split into equal parts says how many, and the last of them
// may be smaller.
Status SplitCount(Node& node, UpgradeStore&) {
  if (node.inputs.size() < 2) {
    node.attributes.push_back({.name = "num_outputs",
                               .type = AttributeType::kInt,
                               .i = static_cast<int64_t>(node.outputs.size())});
    SetFlag(node, "encore.even");
  }
  return OkStatus();
}

Status ReshapeInput(Node& node, UpgradeStore& store) {
  RemoveAttribute(node, "consumed_inputs");
  return IntsToInput(node, "shape", 1, store);
}

Status TopKInput(Node& node, UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(const int64_t k, reader.RequiredInt("k"));
  SetInput(node, 1, std::vector<int64_t>{k}, store);
  RemoveAttribute(node, "k");
  return OkStatus();
}

Status NamedCast(Node& node, UpgradeStore&) {
  constexpr std::string_view kNames[] = {
      "UNDEFINED", "FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32",
      "INT64",     "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(const std::string to, reader.String("to", ""));
  const auto found = std::find(std::begin(kNames), std::end(kNames), to);
  if (found == std::end(kNames)) {
    return InvalidArgumentError(
        StrCat("attribute to is ", Quote(to), ", expected the name of a type"));
  }
  RemoveAttribute(node, "to");
  node.attributes.push_back({.name = "to",
                             .type = AttributeType::kInt,
                             .i = found - std::begin(kNames)});
  return OkStatus();
}

Status OldConcatAxis(Node& node, UpgradeStore&) {
  if (FindAttribute(node, "axis") == nullptr) {
    node.attributes.push_back(
        {.name = "axis", .type = AttributeType::kInt, .i = 1});
  }
  return OkStatus();
}

Status OldBatchNorm(Node& node, UpgradeStore&) {
  RemoveAttribute(node, "consumed_inputs");
  RemoveAttribute(node, "is_test");
  return OkStatus();
}

Status DropSpatial(Node& node, UpgradeStore&) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(const bool spatial, reader.Bool("spatial", true));
  RemoveAttribute(node, "spatial");
  if (!spatial) SetFlag(node, "encore.per_activation");
  return OkStatus();
}

Status DropGemmBroadcast(Node& node, UpgradeStore&) {
  RemoveAttribute(node, "broadcast");
  return OkStatus();
}

// In inference a dropout hands its input on: ratio and mode do not matter.
Status DropoutAttributes(Node& node, UpgradeStore&) {
  for (const std::string_view name : {"ratio", "is_test", "consumed_inputs"}) {
    RemoveAttribute(node, name);
  }
  node.inputs.resize(std::min<size_t>(node.inputs.size(), 1));
  return OkStatus();
}

// Until opset 9 a scan had lengths of sequences, which nobody may give here,
// and a batch dim in front of every value.
Status BatchedScan(Node& node, UpgradeStore&) {
  if (node.inputs.empty() || !node.inputs[0].empty()) {
    return UnimplementedError("input sequence_lens is not supported");
  }
  node.inputs.erase(node.inputs.begin());
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == "directions")
      attribute.name = "scan_input_directions";
  }
  SetFlag(node, "encore.batched");
  return OkStatus();
}

Status UpsampleScales(Node& node, UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(auto scales, reader.Floats("scales"));
  if (scales.empty())
    return InvalidArgumentError("attribute scales is missing");
  SetInput(node, 1, std::move(scales), /*scalar=*/false, store);
  RemoveAttribute(node, "scales");
  return OkStatus();
}

Status UpsampleToResize(Node& node, UpgradeStore&) {
  node.op_type = "Resize";
  return OkStatus();
}

// Until opset 11 a resize took (X, scales) and was asymmetric; axes that became
// smaller rounded up.
Status OldResize(Node& node, UpgradeStore&) {
  if (node.inputs.size() == 2) node.inputs.insert(node.inputs.begin() + 1, "");
  node.attributes.push_back({.name = "coordinate_transformation_mode",
                             .type = AttributeType::kString,
                             .s = "asymmetric"});
  node.attributes.push_back({.name = "nearest_mode",
                             .type = AttributeType::kString,
                             .s = "floor_or_ceil_if_smaller"});
  return OkStatus();
}

// Until opset 20 the axis was an attribute, 1 where it was left out.
Status DftAxis(Node& node, UpgradeStore& store) {
  AttributeReader reader(node);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis, reader.Int("axis", 1));
  SetInput(node, 2, std::vector<int64_t>{axis}, store, /*scalar=*/true);
  RemoveAttribute(node, "axis");
  return OkStatus();
}

// Until opset 21 scale and bias were given per group.
Status GroupNormPerGroup(Node& node, UpgradeStore&) {
  SetFlag(node, "encore.per_group");
  return OkStatus();
}

// Until opset 24 a mask was as long as the keys, or of extent 1 and repeated;
// since then shorter ones are filled.
Status RepeatedMask(Node& node, UpgradeStore&) {
  SetFlag(node, "encore.broadcasts");
  return OkStatus();
}

// An int since; other norms were never computed by anybody.
Status WholeNorm(Node& node, UpgradeStore&) {
  for (Attribute& attribute : node.attributes) {
    if (attribute.name != "p" || attribute.type == AttributeType::kInt)
      continue;
    const float p = attribute.f;
    if (!(p >= 1) || p > 1e6f || p != std::floor(p)) {
      return UnimplementedError(StrCat(
          "attribute p is ", p, ", expected an integer that is positive"));
    }
    attribute = {.name = "p", .type = AttributeType::kInt};
    attribute.i = static_cast<int64_t>(p);
  }
  return OkStatus();
}

// Ascending by opset: an Upsample becomes a Resize on its way.
constexpr Step kSteps[] = {
    {2, "GlobalLpPool", WholeNorm},
    {2, "LpPool", WholeNorm},
    {2, "Pad", OldPadName},
    {4, "Concat", OldConcatAxis},
    {5, "Reshape", ReshapeInput},
    {6, "Abs", DropConsumedInputs},
    {6, "Cast", NamedCast},
    {6, "Ceil", DropConsumedInputs},
    {6, "Clip", DropConsumedInputs},
    {6, "Dropout", DropConsumedInputs},
    {6, "Elu", DropConsumedInputs},
    {6, "Exp", DropConsumedInputs},
    {6, "Floor", DropConsumedInputs},
    {6, "HardSigmoid", DropConsumedInputs},
    {6, "InstanceNormalization", DropConsumedInputs},
    {6, "LeakyRelu", DropConsumedInputs},
    {6, "Log", DropConsumedInputs},
    {6, "Max", DropConsumedInputs},
    {6, "Mean", DropConsumedInputs},
    {6, "Min", DropConsumedInputs},
    {6, "Neg", DropConsumedInputs},
    {6, "PRelu", DropConsumedInputs},
    {6, "Reciprocal", DropConsumedInputs},
    {6, "Relu", DropConsumedInputs},
    {6, "Selu", OldSelu},
    {6, "Sigmoid", DropConsumedInputs},
    {6, "Sqrt", DropConsumedInputs},
    {6, "Sum", DropConsumedInputs},
    {6, "Tanh", DropConsumedInputs},
    {7, "Add", AxisBroadcast},
    {7, "And", AxisBroadcast},
    {7, "BatchNormalization", OldBatchNorm},
    {7, "Div", AxisBroadcast},
    {7, "Dropout", DropoutAttributes},
    {7, "Equal", AxisBroadcast},
    {7, "Gemm", DropGemmBroadcast},
    {7, "Greater", AxisBroadcast},
    {7, "Less", AxisBroadcast},
    {7, "Mul", AxisBroadcast},
    {7, "Or", AxisBroadcast},
    {7, "Pow", AxisBroadcast},
    {7, "Sub", AxisBroadcast},
    {7, "Xor", AxisBroadcast},
    {9, "BatchNormalization", DropSpatial},
    {9, "Scan", BatchedScan},
    {9, "Upsample", UpsampleScales},
    {10, "Slice", SliceInputs},
    {10, "TopK", TopKInput},
    {10, "Upsample", UpsampleToResize},
    {11, "Clip", ClipBounds},
    {11, "Pad", PadInputs},
    {11, "Resize", OldResize},
    {12, "Dropout", DropoutAttributes},
    {13, "Hardmax", FlattenedSoftmax},
    {13, "LogSoftmax", FlattenedSoftmax},
    {13, "ReduceSum", AxesToInput},
    {13, "Softmax", FlattenedSoftmax},
    {13, "Split", SplitInput},
    {13, "Squeeze", AxesToInput},
    {13, "Unsqueeze", AxesToInput},
    {18, "ReduceL1", AxesToInput},
    {18, "ReduceL2", AxesToInput},
    {18, "ReduceLogSum", AxesToInput},
    {18, "ReduceLogSumExp", AxesToInput},
    {18, "ReduceMax", AxesToInput},
    {18, "ReduceMean", AxesToInput},
    {18, "ReduceMin", AxesToInput},
    {18, "ReduceProd", AxesToInput},
    {18, "ReduceSumSquare", AxesToInput},
    {18, "Split", SplitCount},
    {20, "DFT", DftAxis},
    {21, "GroupNormalization", GroupNormPerGroup},
    {24, "Attention", RepeatedMask},
};

}  // namespace

Status UpgradeNode(int64_t opset, Node* node, UpgradeStore* store) {
  for (const Step& step : kSteps) {
    if (opset >= step.opset || node->op_type != step.op_type) continue;
    ENCORE_RETURN_IF_ERROR(step.upgrade(*node, *store));
  }
  return OkStatus();
}

std::vector<int64_t> UpgradedAt(std::string_view op_type) {
  std::vector<int64_t> opsets;
  for (const Step& step : kSteps) {
    if (step.op_type == op_type) opsets.push_back(step.opset);
  }
  return opsets;
}

std::vector<std::string_view> UpgradedOps() {
  std::set<std::string_view> ops;
  for (const Step& step : kSteps) ops.insert(step.op_type);
  return {ops.begin(), ops.end()};
}

}  // namespace encore::onnx
