#include "encore/opt/tensor/kept/kept_choices.h"

#include <bit>
#include <cmath>
#include <utility>

#include "encore/ir/graph/equal.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::opt {
namespace {

constexpr uint8_t kVersion = 2;

void WriteNumber(const std::optional<double>& number, ByteWriter* out) {
  out->Byte(number.has_value());
  if (number) out->Fixed64(std::bit_cast<uint64_t>(*number));
}

// NaN is no cost.
double ReadNumber(ByteReader* in) {
  const double number = std::bit_cast<double>(in->Fixed64());
  if (std::isnan(number)) in->Fail();
  return number;
}
bool ReadBool(ByteReader* in) {
  const uint8_t byte = in->Byte();
  if (byte > 1) in->Fail();
  return byte == 1;
}
std::optional<double> ReadOptional(ByteReader* in) {
  if (!ReadBool(in)) return std::nullopt;
  return ReadNumber(in);
}

egraph::StopReason ReadStop(ByteReader* in) {
  const uint8_t stop = in->Byte();
  if (stop > static_cast<uint8_t>(egraph::StopReason::kFailed)) in->Fail();
  return in->ok() ? static_cast<egraph::StopReason>(stop)
                  : egraph::StopReason::kNone;
}

// Of what takes the place of `graph`.
Status CheckSignature(const Graph& graph, const Graph& other) {
  const auto arguments = graph.arguments(), others = other.arguments();
  bool same = arguments.size() == others.size() &&
              graph.outputs().size() == other.outputs().size() &&
              graph.symbols().size() == other.symbols().size();
  for (size_t i = 0; same && i < arguments.size(); ++i) {
    same = arguments[i].is_parameter == others[i].is_parameter &&
           graph.type(arguments[i].value) == other.type(others[i].value);
  }
  for (size_t i = 0; same && i < graph.outputs().size(); ++i) {
    same = graph.type(graph.outputs()[i].value) ==
           other.type(other.outputs()[i].value);
  }
  for (size_t i = 0; same && i < graph.symbols().size(); ++i) {
    const Symbol& a = graph.symbols()[i];
    const Symbol& b = other.symbols()[i];
    same = a.lower == b.lower && a.upper == b.upper &&
           a.at_run_time == b.at_run_time;
  }
  return same ? OkStatus() : DataLossError("a graph of another signature");
}

// The nodes of `from`, which has no bodies, those that nothing needs too, in
// `to`, which has its symbols and nothing else, under the names and with the
// data of the arguments of `signature`.
StatusOr<Graph> CopyNodes(const Graph& from, const Graph& signature, Graph to) {
  std::vector<ValueId> values(from.value_count());
  size_t arguments = 0;
  for (const NodeId node : Nodes(from)) {
    const std::string& origin = from.origin(node);
    if (from.op(node) == Op::kInput || from.op(node) == Op::kParameter) {
      const ValueId value = from.result(node);
      const Graph::Argument& as = signature.arguments()[arguments++];
      ENCORE_ASSIGN_OR_RETURN(
          values[value.value()],
          as.is_parameter
              ? to.AddParameter(as.name, from.type(value), as.data, origin)
              : to.AddInput(as.name, from.type(value), origin));
      continue;
    }
    std::vector<ValueId> operands;
    for (const ValueId operand : from.operands(node)) {
      operands.push_back(values[operand.value()]);
    }
    ENCORE_ASSIGN_OR_RETURN(
        const NodeId copy,
        to.AddNode(from.op(node), operands, from.attributes(node),
                   {.origin = origin}));
    for (int i = 0; i < from.result_count(node); ++i) {
      values[from.result(node, i).value()] = to.result(copy, i);
    }
  }
  for (size_t i = 0; i < from.outputs().size(); ++i) {
    ENCORE_RETURN_IF_ERROR(to.AddOutput(
        signature.outputs()[i].name, values[from.outputs()[i].value.value()]));
  }
  return to;
}

}  // namespace

std::string KeptChoices::Encode() const {
  ByteWriter out;
  out.Byte(kVersion);
  out.Fixed64(std::bit_cast<uint64_t>(own_seconds));
  out.Varint(figures.nodes);
  out.Varint(figures.enodes);
  out.Varint(figures.classes);
  out.Varint(figures.iterations);
  out.Byte(static_cast<uint8_t>(figures.stop));
  out.Byte(changed);
  out.Varint(choices.size());
  for (const auto& [id, choice] : choices) {
    out.Byte(id.no_weights);
    out.Byte(id.no_larger);
    out.Varint(id.neighbour);
    out.Byte(id.of_graph);
    WriteNumber(choice.cost, &out);
    WriteNumber(choice.bound, &out);
    out.String(choice.graph);
  }
  return out.Take();
}

StatusOr<KeptChoices> KeptChoices::Decode(std::string_view bytes) {
  ByteReader in(bytes);
  KeptChoices kept;
  if (in.Byte() != kVersion) in.Fail();
  kept.own_seconds = ReadNumber(&in);
  kept.figures.nodes = in.Varint();
  kept.figures.enodes = in.Varint();
  kept.figures.classes = in.Varint();
  kept.figures.iterations = in.Varint();
  kept.figures.stop = ReadStop(&in);
  kept.changed = ReadBool(&in);
  const size_t count = in.Count(7);
  if (!kept.changed && count > 0) in.Fail();
  for (size_t i = 0; i < count && in.ok(); ++i) {
    ChoiceId id;
    id.no_weights = ReadBool(&in);
    id.no_larger = ReadBool(&in);
    const uint64_t neighbour = in.Varint();
    if (neighbour > kMostNeighbours) in.Fail();
    id.neighbour = static_cast<uint32_t>(neighbour);
    id.of_graph = ReadBool(&in);
    Choice& choice = kept.choices[id];
    choice.cost = ReadOptional(&in);
    choice.bound = ReadOptional(&in);
    choice.graph = in.String();
  }
  // Choices twice or out of order are nothing that Encode writes.
  if (in.ok() && in.done() && kept.Encode() == bytes) return kept;
  return DataLossError("malformed choices");
}

std::optional<KeptGraph> KeptGraph::Of(const Graph& graph,
                                       std::string_view identity) {
  const size_t arguments = graph.arguments().size();
  if (static_cast<size_t>(graph.node_count()) < arguments + kLeastKeptNodes ||
      graph.body_depth() > 0) {
    return std::nullopt;
  }
  KeptGraph kept(graph);
  if (kept.stencil_.unkeyable) return std::nullopt;
  ByteWriter key;
  key.String(identity);
  // Where arguments stand among the nodes.
  for (const Graph::Argument& argument : graph.arguments()) {
    key.Varint(graph.producer(argument.value).value());
  }
  for (const Stencil::Place& place : kept.stencil_.places) {
    const std::string& origin = place.graph->origin(place.node);
    const auto [it, fresh] =
        kept.numbers_.emplace(origin, kept.origins_.size());
    if (fresh) kept.origins_.push_back(origin);
    key.Varint(it->second);
  }
  key.Raw(kept.stencil_.bytes);
  kept.key_ = Sha256Of(key.str()).ToHex();
  return kept;
}

std::optional<std::string> KeptGraph::Write(const Graph& candidate) const {
  const Stencil stencil = MakeStencil(candidate, StencilOrder::kAsIs);
  ByteWriter out;
  out.String(stencil.bytes);
  for (const Stencil::Place& place : stencil.places) {
    const auto origin = numbers_.find(place.graph->origin(place.node));
    if (origin == numbers_.end()) return std::nullopt;
    out.Varint(origin->second);
  }
  std::string bytes = out.Take();
  const auto again = Read(bytes, candidate.NewBody(candidate.name()));
  if (!again.ok() || again->node_count() != candidate.node_count() ||
      !Equal(*again, candidate)) {
    return std::nullopt;
  }
  return bytes;
}

StatusOr<Graph> KeptGraph::Read(std::string_view bytes, Graph to) const {
  ByteReader in(bytes);
  const std::string_view stencil = in.String();
  std::vector<std::string> origins;
  while (in.ok() && !in.done()) {
    const uint64_t number = in.Varint();
    if (number >= origins_.size()) in.Fail();
    if (in.ok()) origins.push_back(origins_[number]);
  }
  if (!in.ok()) return DataLossError("malformed choice");
  const auto read = ReadStencil(stencil, stencil_.constants,
                                {{}, {}, {}, origins}, StencilOrder::kAsIs);
  if (!read.ok()) return DataLossError(Message(read.status()));
  if (static_cast<size_t>(read->node_count()) != origins.size() ||
      read->body_depth() > 0) {
    return DataLossError("a choice with other nodes than origins");
  }
  ENCORE_RETURN_IF_ERROR(CheckSignature(graph_, *read));
  auto graph = CopyNodes(*read, graph_, std::move(to));
  if (!graph.ok()) return DataLossError(Message(graph.status()));
  if (const Status status = Verify(*graph); !status.ok()) {
    return DataLossError(Message(status));
  }
  return graph;
}

}  // namespace encore::opt
