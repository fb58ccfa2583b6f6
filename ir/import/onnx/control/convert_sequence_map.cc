// SequenceMap, a function of the standard: a Loop that applies the body to the
// elements of each index and appends what it gives to one sequence per output.

#include <set>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/control/node_writer.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Writes the loop in ONNX's own operators.
class MapWriter : NodeWriter {
 public:
  MapWriter(NodeContext& context, const Graph& body)
      : NodeWriter(context), context_(context), body_(body) {}

  Status Write();

 private:
  // The body of the loop; its carried values are `sequences`.
  Graph LoopBody();
  // Binds an empty sequence per output; their names.
  StatusOr<std::vector<std::string_view>> BindEmpty();

  NodeContext& context_;
  const Graph& body_;
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
  loop.value_infos.insert(loop.value_infos.end(), body_.inputs.begin(),
                          body_.inputs.end());
  loop.inputs = {Info(trip), Info(going)};
  loop.outputs = {Info(still)};
  std::vector<Node> nodes = {MakeNode("Identity", {going}, {still})};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value value = context_.Input(static_cast<int>(i));
    const std::string_view formal = body_.inputs[i].name;
    nodes.push_back(value.type().kind == ValueKind::kSequence
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
  const std::string_view length = Name("length");
  const Value count = context_.Emit(Op::kSequenceLength, {context_.Input(0)});
  Bound bound{count, std::nullopt, std::nullopt};
  if (const Literal* known = count.constant()) bound.constant = *known;
  ENCORE_RETURN_IF_ERROR(context_.scope().Bind(length, std::move(bound)));
  std::vector<std::string_view> inputs = {length, ""};
  ENCORE_ASSIGN_OR_RETURN(const auto empty, BindEmpty());
  inputs.insert(inputs.end(), empty.begin(), empty.end());
  return ConvertInstead(
      context_,
      MakeLoop(std::move(inputs), context_.node().outputs, LoopBody()));
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
    return NodeContext::Error(
        "an input or the first output is left out, expected all to have names");
  }
  if (context.Input(0).type().kind != ValueKind::kSequence) {
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
