// SequenceMap, a function of the standard: a Loop that applies the body to the
// elements of each index and appends what it gives to one sequence per output.

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Writes the loop in ONNX's own operators. Names that it makes up live as long
// as this.
class MapWriter {
 public:
  MapWriter(NodeContext& context, const Graph& body)
      : context_(context), body_(body) {}

  Status Write();

 private:
  std::string_view Name(std::string_view what, size_t number = 0) {
    return names_.emplace_back(
        StrCat(what, number, "@", context_.node().outputs[0]));
  }
  static Node MakeNode(std::string_view op,
                       std::vector<std::string_view> inputs,
                       std::vector<std::string_view> outputs) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    return node;
  }
  static ValueInfo Info(std::string_view name) {
    ValueInfo info;
    info.name = name;
    return info;
  }
  // The body of the loop; its carried values are `sequences`.
  Graph LoopBody();
  // Binds an empty sequence per output; their names.
  StatusOr<std::vector<std::string_view>> BindEmpty();

  NodeContext& context_;
  const Graph& body_;
  std::deque<std::string> names_;
};

StatusOr<std::vector<std::string_view>> MapWriter::BindEmpty() {
  std::vector<std::string_view> empty;
  for (const ValueInfo& output : body_.outputs) {
    const StatusOr<DType> dtype = DTypeOf(output.type.element_type);
    if (output.type.kind != Type::Kind::kTensor || !dtype.ok()) {
      return NodeContext::Error(StrCat("attribute body: output ",
                                       Quote(output.name),
                                       " has no tensor type"));
    }
    empty.push_back(Name("empty", empty.size()));
    const Value value =
        context_.Emit(Op::kSequence, {}, ElementTypeAttrs{*dtype});
    ENCORE_RETURN_IF_ERROR(context_.scope().Bind(
        empty.back(), Bound{value, std::nullopt, std::nullopt}));
  }
  return empty;
}

Graph MapWriter::LoopBody() {
  const std::vector<std::string_view>& inputs = context_.node().inputs;
  const std::string_view trip = Name("trip"), going = Name("going");
  const std::string_view still = Name("still");
  Graph loop = body_;
  loop.inputs = {Info(trip), Info(going)};
  loop.outputs = {Info(still)};
  std::vector<Node> nodes = {MakeNode("Identity", {going}, {still})};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value value = context_.Input(static_cast<int>(i));
    const std::string_view formal = body_.inputs[i].name;
    nodes.push_back(value.type().host == HostKind::kSequence
                        ? MakeNode("SequenceAt", {inputs[i], trip}, {formal})
                        : MakeNode("Identity", {inputs[i]}, {formal}));
  }
  nodes.insert(nodes.end(), body_.nodes.begin(), body_.nodes.end());
  for (size_t k = 0; k < body_.outputs.size(); ++k) {
    const std::string_view before = Name("before", k), after = Name("after", k);
    nodes.push_back(
        MakeNode("SequenceInsert", {before, body_.outputs[k].name}, {after}));
    loop.inputs.push_back(Info(before));
    loop.outputs.push_back(Info(after));
  }
  loop.nodes = std::move(nodes);
  return loop;
}

Status MapWriter::Write() {
  const Node& map = context_.node();
  const std::string_view length = Name("length");
  const Value count = context_.Emit(Op::kSequenceLength, {context_.Input(0)});
  Bound bound{count, std::nullopt, std::nullopt};
  if (const Literal* known = count.constant()) bound.constant = *known;
  ENCORE_RETURN_IF_ERROR(context_.scope().Bind(length, std::move(bound)));
  ENCORE_ASSIGN_OR_RETURN(const auto empty, BindEmpty());
  Attribute attribute;
  attribute.name = "body";
  attribute.type = AttributeType::kGraph;
  attribute.g = std::make_shared<const Graph>(LoopBody());
  Node node = MakeNode("Loop", {length, ""}, map.outputs);
  node.name = map.name;
  node.inputs.insert(node.inputs.end(), empty.begin(), empty.end());
  node.attributes.push_back(std::move(attribute));
  NodeContext loop(node, context_.scope(), context_.source(),
                   &context_.bodies());
  return FindConverter("Loop")->convert(loop);
}

Status SequenceMap(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(const Graph* body,
                          context.attributes().RequiredGraph("body"));
  const Node& node = context.node();
  if (body->inputs.size() != node.inputs.size() ||
      body->outputs.size() != node.outputs.size()) {
    return NodeContext::Error(StrCat("attribute body has ", body->inputs.size(),
                                     " inputs and ", body->outputs.size(),
                                     " outputs, the node ", node.inputs.size(),
                                     " and ", node.outputs.size()));
  }
  std::set<std::string_view> distinct(node.inputs.begin(), node.inputs.end());
  if (distinct.contains("") || node.outputs[0].empty()) {
    return NodeContext::Error("an input or output is left out");
  }
  if (context.Input(0).type().host != HostKind::kSequence) {
    return NodeContext::Error(StrCat("input 0 is ", context.Input(0).type(),
                                     ", expected a sequence"));
  }
  return MapWriter(context, *body).Write();
}

constexpr Converter kConverters[] = {
    {"SequenceMap", SequenceMap, Op::kLoop},
};

}  // namespace

std::span<const Converter> SequenceMapConverters() { return kConverters; }

}  // namespace encore::onnx
