#include "encore/ir/testing/round_trip.h"

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

}  // namespace

std::optional<std::string> BrokenLaw(const Graph& graph) {
  if (auto broken = BrokenTextLaw(graph, /*types=*/false)) return broken;
  if (auto broken = BrokenTextLaw(graph, /*types=*/true)) return broken;
  if (auto broken = BrokenProtoLaw(graph)) return broken;
  return BrokenStencilLaw(graph);
}

}  // namespace encore
