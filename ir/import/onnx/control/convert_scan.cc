// Scan: as one node; where its body has data-dependent extents, as a Loop.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/control/node_writer.h"
#include "encore/ir/import/onnx/control/subgraphs.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A list attribute of a Scan with `count` entries, zeros where it is absent.
StatusOr<Ints> ScanList(NodeContext& context, std::string_view name,
                        size_t count) {
  ENCORE_ASSIGN_OR_RETURN(Ints list,
                          context.attributes().Ints(name, Ints(count, 0)));
  if (list.size() == count) return list;
  return NodeContext::Error(StrCat("attribute ", name, " has ", list.size(),
                                   " entries, expected ", count));
}

struct ScanShape {
  size_t carried = 0, scanned = 0, stacked = 0;
  Ints input_axes, output_axes, directions;
};

StatusOr<ScanShape> ReadScan(NodeContext& context, const Graph& graph) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t scanned,
                          context.attributes().RequiredInt("num_scan_inputs"));
  const int64_t inputs = context.input_count();
  if (scanned < 1 || scanned > inputs ||
      static_cast<int64_t>(graph.outputs.size()) < inputs - scanned) {
    return NodeContext::Error(StrCat("attribute num_scan_inputs is ", scanned,
                                     " for ", inputs, " inputs and ",
                                     graph.outputs.size(), " outputs"));
  }
  ScanShape scan;
  scan.scanned = static_cast<size_t>(scanned);
  scan.carried = static_cast<size_t>(inputs - scanned);
  scan.stacked = graph.outputs.size() - scan.carried;
  ENCORE_ASSIGN_OR_RETURN(scan.input_axes,
                          ScanList(context, "scan_input_axes", scan.scanned));
  ENCORE_ASSIGN_OR_RETURN(scan.output_axes,
                          ScanList(context, "scan_output_axes", scan.stacked));
  ENCORE_ASSIGN_OR_RETURN(
      scan.directions,
      ScanList(context, "scan_input_directions", scan.scanned));
  ENCORE_ASSIGN_OR_RETURN(
      const Ints backward,
      ScanList(context, "scan_output_directions", scan.stacked));
  scan.directions.insert(scan.directions.end(), backward.begin(),
                         backward.end());
  return scan;
}

// The scan in `g` over `operands`: carried and scanned values, then what is
// captured. Nothing where its body has data-dependent extents of what it gives.
StatusOr<std::optional<std::vector<Value>>> MakeScan(
    NodeContext& context, GraphBuilder& g, const Graph& graph, ScanShape scan,
    const Captures& captures, std::span<const Value> operands) {
  std::vector<Formal> formals;
  for (size_t i = 0; i < scan.carried + scan.scanned; ++i) {
    TensorType type = operands[i].type();
    if (i >= scan.carried) {
      int64_t& axis = scan.input_axes[i - scan.carried];
      ENCORE_ASSIGN_OR_RETURN(axis, context.Axis(axis, type.shape.rank(),
                                                 "attribute scan_input_axes"));
      std::vector<Dim>& dims = type.shape.mutable_dims();
      dims.erase(dims.begin() + axis);
    }
    formals.push_back({std::move(type)});
  }
  const size_t symbols = g.graph().symbols().size();
  ENCORE_ASSIGN_OR_RETURN(Body body,
                          MakeBody(context, g, graph, captures, formals));
  for (size_t i = 0; i < formals.size(); ++i) {
    // Every trip has the same.
    ENCORE_RETURN_IF_ERROR(CheckFormal(context.scope(), graph.inputs[i],
                                       formals[i].type,
                                       !context.bodies().extents_given()));
  }
  for (const Value& output : body.outputs) {
    if (!IsKnownOutside(output.shape(), symbols)) return std::nullopt;
  }
  for (size_t k = 0; k < scan.stacked; ++k) {
    int64_t& axis = scan.output_axes[k];
    ENCORE_ASSIGN_OR_RETURN(
        axis, context.Axis(axis, body.outputs[scan.carried + k].rank() + 1,
                           "attribute scan_output_axes"));
  }
  ScanAttrs attrs;
  attrs.carried = static_cast<int64_t>(scan.carried);
  attrs.captures = static_cast<int64_t>(captures.values.size());
  attrs.scan_axes = scan.input_axes;
  attrs.scan_axes.insert(attrs.scan_axes.end(), scan.output_axes.begin(),
                         scan.output_axes.end());
  attrs.directions = scan.directions;
  ENCORE_ASSIGN_OR_RETURN(encore::Graph built, body.Build());
  std::vector<encore::Graph> bodies;
  bodies.push_back(std::move(built));
  std::vector<Value> results =
      g.Node(Op::kScan, operands, std::move(attrs), std::move(bodies));
  ENCORE_RETURN_IF_ERROR(g.status());
  return std::optional(std::move(results));
}

// Until opset 9 every value had a batch dim in front: a scan over the batch of
// scans.
StatusOr<std::vector<Value>> MakeBatchedScan(NodeContext& context,
                                             const Graph& graph,
                                             const ScanShape& scan,
                                             const Captures& captures,
                                             std::span<const Value> operands) {
  Status status;
  const auto body = [&](GraphBuilder& g, std::span<const Value> inputs) {
    auto results = MakeScan(context, g, graph, scan, captures, inputs);
    status = results.status();
    if (status.ok() && !*results) {
      status = context.Unknown(
          "the body has data-dependent extents, of which until opset 9 each "
          "element of "
          "a batch may have its own");
    }
    return status.ok() ? **std::move(results) : std::vector<Value>(1);
  };
  ScanAttrs attrs;
  attrs.captures = static_cast<int64_t>(captures.values.size());
  std::vector<Value> results = context.builder().Scan(operands, body, attrs);
  ENCORE_RETURN_IF_ERROR(status);
  return results;
}

// The scan as a Loop that takes the slices itself: a loop carries and stacks
// what has data-dependent extents in its body.
class ScanWriter : NodeWriter {
 public:
  ScanWriter(NodeContext& context, const Graph& graph, const ScanShape& scan)
      : NodeWriter(context), context_(context), graph_(graph), scan_(scan) {}

  Status Write();

 private:
  // The length of the scanned axes, bound as `length`; before it, `last`.
  Status BindLength();
  // Nodes that give the slices of this trip the names that the body has.
  std::vector<Node> Slices();
  Graph LoopBody();

  NodeContext& context_;
  const Graph& graph_;
  const ScanShape& scan_;
  const std::string_view trip_ = Name("trip"), going_ = Name("going"),
                         still_ = Name("still"), length_ = Name("length"),
                         last_ = Name("last"), back_ = Name("back");
  Ints axes_;
};

Status ScanWriter::BindLength() {
  std::optional<Dim> length;
  for (size_t i = 0; i < scan_.scanned; ++i) {
    const Value whole = context_.Input(static_cast<int>(scan_.carried + i));
    ENCORE_ASSIGN_OR_RETURN(axes_.emplace_back(),
                            context_.Axis(scan_.input_axes[i], whole.rank(),
                                          "attribute scan_input_axes"));
    const Dim extent = whole.shape()[static_cast<int>(axes_[i])];
    if (length && !(*length == extent)) {
      return context_.ShapeMismatch(StrCat("the scanned inputs have ", *length,
                                           " and ", extent, " slices"));
    }
    length = extent;
  }
  const auto bind = [&](std::string_view name, Dim dim) {
    return context_.scope().Bind(
        name, Bound{std::nullopt, std::nullopt,
                    KnownDims{{std::move(dim)}, /*scalar=*/true}});
  };
  ENCORE_RETURN_IF_ERROR(bind(last_, *length - 1));
  return bind(length_, *length);
}

std::vector<Node> ScanWriter::Slices() {
  std::vector<Node> nodes = {MakeNode("Identity", {going_}, {still_}),
                             MakeNode("Sub", {last_, trip_}, {back_})};
  for (size_t i = 0; i < scan_.scanned; ++i) {
    Attribute axis;
    axis.name = "axis";
    axis.type = AttributeType::kInt;
    axis.i = axes_[i];
    const size_t input = scan_.carried + i;
    nodes.push_back(MakeNode("Gather",
                             {context_.node().inputs[input],
                              scan_.directions[i] == 1 ? back_ : trip_},
                             {graph_.inputs[input].name}));
    nodes.back().attributes.push_back(std::move(axis));
  }
  return nodes;
}

Graph ScanWriter::LoopBody() {
  Graph loop = graph_;
  loop.inputs = {Info(trip_), Info(going_)};
  loop.inputs.insert(loop.inputs.end(), graph_.inputs.begin(),
                     graph_.inputs.begin() + scan_.carried);
  loop.outputs.insert(loop.outputs.begin(), Info(still_));
  loop.nodes = Slices();
  loop.nodes.insert(loop.nodes.end(), graph_.nodes.begin(), graph_.nodes.end());
  return loop;
}

Status ScanWriter::Write() {
  ENCORE_RETURN_IF_ERROR(BindLength());
  const Node& node = context_.node();
  std::vector<std::string_view> inputs = {length_, ""}, outputs = node.outputs;
  inputs.insert(inputs.end(), node.inputs.begin(),
                node.inputs.begin() + scan_.carried);
  for (size_t i = scan_.carried; i < outputs.size(); ++i) {
    if (!outputs[i].empty()) outputs[i] = Name("stacked", i);
  }
  ENCORE_RETURN_IF_ERROR(ConvertInstead(
      context_, MakeLoop(std::move(inputs), outputs, LoopBody())));
  GraphBuilder& g = context_.builder();
  for (size_t i = scan_.carried; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    Value value = context_.scope().Tensor(outputs[i]);
    const size_t k = i - scan_.carried;
    if (scan_.directions[scan_.scanned + k] == 1) value = g.Reverse(value, {0});
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context_.Axis(scan_.output_axes[k], value.rank(),
                                          "attribute scan_output_axes"));
    Ints order;
    for (int64_t d = 1; d < value.rank(); ++d) order.push_back(d);
    order.insert(order.begin() + axis, 0);
    ENCORE_RETURN_IF_ERROR(
        context_.Output(static_cast<int>(i), g.Transpose(value, order)));
  }
  return OkStatus();
}

Status Scan(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(const Graph* graph,
                          context.attributes().RequiredGraph("body"));
  ENCORE_ASSIGN_OR_RETURN(const bool batched,
                          context.attributes().Bool("encore.batched", false));
  ENCORE_ASSIGN_OR_RETURN(const ScanShape scan, ReadScan(context, *graph));
  ENCORE_ASSIGN_OR_RETURN(const Captures captures,
                          FindCaptures(context, {graph}));
  std::vector<Value> operands = context.Inputs();
  operands.insert(operands.end(), captures.values.begin(),
                  captures.values.end());
  if (batched) {
    ENCORE_ASSIGN_OR_RETURN(
        const std::vector<Value> results,
        MakeBatchedScan(context, *graph, scan, captures, operands));
    return BindOutputs(context, results);
  }
  ENCORE_ASSIGN_OR_RETURN(
      const auto results,
      MakeScan(context, context.builder(), *graph, scan, captures, operands));
  if (results) return BindOutputs(context, *results);
  return ScanWriter(context, *graph, scan).Write();
}

constexpr Converter kConverters[] = {
    {"Scan", Scan, Op::kScan},
};

}  // namespace

std::span<const Converter> ScanConverters() { return kConverters; }

}  // namespace encore::onnx
