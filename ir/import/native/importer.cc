#include "encore/ir/import/native/importer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/proto/from_proto.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/transform/specialize.h"

namespace encore::native {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status BindInputs(const Graph& graph, const ImportOptions& options,
                  SymbolBinding* binding) {
  size_t position = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (position == options.positional_shapes.size()) break;
    if (argument.is_parameter) continue;
    const auto& dims = options.positional_shapes[position++];
    if (!dims || options.input_shapes.contains(argument.name)) continue;
    ENCORE_RETURN_IF_ERROR(binding->Bind(StrCat("input ", argument.name),
                                         graph.shape(argument.value), *dims));
  }
  for (const auto& [name, dims] : options.input_shapes) {
    const auto argument = std::ranges::find_if(
        graph.arguments(), [&](const Graph::Argument& candidate) {
          return !candidate.is_parameter && candidate.name == name;
        });
    if (argument == graph.arguments().end()) {
      return InvalidArgumentError(
          StrCat("the graph has no input ", Quote(name)));
    }
    ENCORE_RETURN_IF_ERROR(binding->Bind(StrCat("input ", name),
                                         graph.shape(argument->value), dims));
  }
  return OkStatus();
}

// The graph with what the options bind in place of its symbols.
StatusOr<Graph> Apply(StatusOr<Graph> graph, const ImportOptions& options) {
  if (!graph.ok()) return graph;
  if (!options.constants.empty()) {
    return UnimplementedError("constants in place of inputs");
  }
  SymbolBinding binding(graph->symbols());
  for (const auto& [name, value] : options.bindings) {
    const auto symbol = graph->FindSymbol(name);
    if (!symbol) {
      return InvalidArgumentError(
          StrCat("the graph has no symbol ", Quote(name)));
    }
    ENCORE_RETURN_IF_ERROR(binding.BindSymbol(*symbol, value));
  }
  ENCORE_RETURN_IF_ERROR(BindInputs(*graph, options, &binding));
  const bool any = std::ranges::any_of(
      binding.replacements(), [](const Dim& dim) { return dim.is_constant(); });
  if (!any) return graph;
  return Specialize(*graph, binding.replacements());
}

}  // namespace

StatusOr<Graph> ImportText(std::span<const std::byte> bytes,
                           std::shared_ptr<const void> owner,
                           const std::vector<std::string>& folders,
                           const ImportOptions& options, MappedFiles* files) {
  return Apply(ParseGraph(TextOf(bytes)), options);
}

StatusOr<Graph> ImportProto(std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner,
                            const std::vector<std::string>& folders,
                            const ImportOptions& options, MappedFiles* files) {
  return Apply(FromProto(TextOf(bytes)), options);
}

}  // namespace encore::native
