#include "encore/ir/testing/round_trip.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "encore/ir/graph/equal.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/proto/from_proto.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"

namespace encore {
namespace {

std::optional<std::string> BrokenTextLaw(const Graph& graph, bool types) {
  const PrintOptions options{.types = types};
  const std::string text = Print(graph, options);
  const auto parsed = ParseGraph(text);
  if (!parsed.ok()) return StrCat(Message(parsed.status()), "\n", text);
  if (const auto difference = FirstDifference(graph, *parsed)) {
    return StrCat("text: ", *difference, "\n", text);
  }
  const std::string again = Print(*parsed, options);
  if (again != text) return StrCat("printed anew:\n", again, text);
  return std::nullopt;
}

std::optional<std::string> BrokenProtoLaw(const Graph& graph) {
  const auto bytes = ToProto(graph);
  if (!bytes.ok()) return Message(bytes.status());
  const auto read = FromProto(*bytes);
  if (!read.ok()) return StrCat("message: ", Message(read.status()));
  if (const auto difference = FirstDifference(graph, *read)) {
    return StrCat("message: ", *difference);
  }
  const auto again = ToProto(*read);
  if (!again.ok() || *again != *bytes) return "message: different bytes";
  return std::nullopt;
}

std::optional<std::string> BrokenStencilLaw(const Graph& graph) {
  const Stencil stencil = MakeStencil(graph);
  const auto read = ReadStencil(stencil.bytes, stencil.constants);
  if (!read.ok()) return Message(read.status());
  if (MakeStencil(*read).bytes != stencil.bytes)
    return "stencil: different bytes";
  return std::nullopt;
}

// Under the names of `graph`, which a stencil does not have, but for those of
// bodies and symbols.
std::optional<Graph> ReadAsIs(const Graph& graph, const Stencil& stencil,
                              std::string* problem) {
  std::vector<std::string> inputs, parameters, outputs, origins;
  for (const Graph::Argument& argument : graph.arguments()) {
    (argument.is_parameter ? parameters : inputs).push_back(argument.name);
  }
  for (const Graph::Output& output : graph.outputs()) {
    outputs.push_back(output.name);
  }
  for (const Stencil::Place& place : stencil.places) {
    origins.push_back(place.graph->origin(place.node));
  }
  auto read =
      ReadStencil(stencil.bytes, stencil.constants,
                  {inputs, parameters, outputs, origins}, StencilOrder::kAsIs);
  if (!read.ok()) {
    *problem = Message(read.status());
    return std::nullopt;
  }
  read->set_name(graph.name());
  for (size_t i = 0; i < graph.arguments().size(); ++i) {
    const Graph::Argument& argument = graph.arguments()[i];
    if (!argument.is_parameter) continue;
    read->set_parameter_data(static_cast<int>(i), argument.data);
  }
  return *std::move(read);
}

std::optional<std::string> BrokenAsIsLaw(const Graph& graph) {
  const Stencil stencil = MakeStencil(graph, StencilOrder::kAsIs);
  std::string problem;
  const auto read = ReadAsIs(graph, stencil, &problem);
  if (!read) return StrCat("as is: ", problem);
  if (MakeStencil(*read).bytes != MakeStencil(graph).bytes) {
    return "as is: another graph";
  }
  if (graph.body_depth() == 0 && graph.symbols().empty()) {
    if (const auto difference = FirstDifference(graph, *read)) {
      return StrCat("as is: ", *difference);
    }
  }
  if (ReadStencil(stencil.bytes, stencil.constants).ok()) {
    return "as is: read as a canonical stencil";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> BrokenLaw(const Graph& graph) {
  if (auto broken = BrokenTextLaw(graph, /*types=*/false)) return broken;
  if (auto broken = BrokenTextLaw(graph, /*types=*/true)) return broken;
  if (auto broken = BrokenProtoLaw(graph)) return broken;
  if (auto broken = BrokenStencilLaw(graph)) return broken;
  return BrokenAsIsLaw(graph);
}

}  // namespace encore
