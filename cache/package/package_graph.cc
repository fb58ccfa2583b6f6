#include "encore/cache/package/package_graph.h"

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "encore/backends/host/program.h"
#include "encore/cache/key/ingredients.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

using backends::CompileOptions;

// The inverse of OptionText in key.cc; false where `text` is no such value.
bool ReadOption(std::string_view text, bool* value) {
  *value = text == "true";
  return *value || text == "false";
}
bool ReadOption(std::string_view text, int64_t* value) {
  const auto number = ParseInt64(text);
  if (number) *value = *number;
  return number.has_value();
}
bool ReadOption(std::string_view text, double* value) {
  text = text.substr(0, text.find(' '));
  return std::from_chars(text.data(), text.data() + text.size(), *value).ec ==
         std::errc();
}
bool ReadOption(std::string_view text, std::string* value) {
  *value = text;
  return true;
}
template <typename Enum>
  requires std::is_enum_v<Enum>
bool ReadOption(std::string_view text, Enum* value) {
  const auto parsed = backends::ParseValue<Enum>(text);
  if (parsed) *value = *parsed;
  return parsed.has_value();
}

StatusOr<KeyIngredients> IngredientsOf(const Package& package) {
  auto ingredients = DecodeIngredients(package.ingredients);
  if (ingredients.ok()) return ingredients;
  return DataLossError(
      StrCat("package: headline: ", Message(ingredients.status())));
}

StatusOr<Graph> ReadGraph(const Package& package, const StencilNames& names) {
  ENCORE_ASSIGN_OR_RETURN(const KeyIngredients ingredients,
                          IngredientsOf(package));
  auto graph = ReadStencil(ingredients.stencil, package.constants, names);
  if (!graph.ok()) {
    return DataLossError(StrCat("package: graph: ", Message(graph.status())));
  }
  size_t next = 0;
  for (size_t i = 0; i < graph->arguments().size(); ++i) {
    const Graph::Argument& argument = graph->arguments()[i];
    if (!argument.is_parameter) continue;
    if (next == package.parameters.size() ||
        package.parameters[next].type() != graph->type(argument.value)) {
      return DataLossError(
          StrCat("package: parameter ", next, " is not of the graph's type"));
    }
    graph->set_parameter_data(static_cast<int>(i), package.parameters[next++]);
  }
  if (next != package.parameters.size()) {
    return DataLossError(StrCat("package: ", package.parameters.size(),
                                " parameters, the graph has ", next));
  }
  return graph;
}

}  // namespace

StatusOr<Graph> GraphOf(const Package& package) {
  return ReadGraph(package, {});
}

StatusOr<Graph> NamedGraphOf(const Package& package) {
  return ReadGraph(package, {package.names.inputs, package.names.parameters,
                             package.names.outputs, package.names.origins});
}

StatusOr<CompileOptions> OptionsOf(const Package& package) {
  ENCORE_ASSIGN_OR_RETURN(const KeyIngredients ingredients,
                          IngredientsOf(package));
  const std::map<std::string_view, std::string_view> parts(
      ingredients.parts.begin(), ingredients.parts.end());
  CompileOptions options;
  Status status;
  backends::VisitOptions(
      options, [&](const backends::OptionInfo& info, auto& value) {
        const auto part = parts.find(StrCat("option.", info.name));
        if (!info.in_key || part == parts.end()) return;
        if (!ReadOption(part->second, &value)) {
          status = DataLossError(
              StrCat("package: option ", info.name, ": ", Quote(part->second)));
        }
      });
  ENCORE_RETURN_IF_ERROR(status);
  // The first computes what is not placed elsewhere (compile.h).
  std::vector<std::string> targets;
  for (const runtime::DeviceInfo& device : package.graph->devices) {
    if (device.backend == backends::host::kHostBackend) continue;
    // A target's text may say more than a backend's name.
    if (device.backend.find_first_of(":,") != std::string::npos) {
      return DataLossError(
          StrCat("package: device of backend ", Quote(device.backend)));
    }
    targets.push_back(device.ordinal == 0
                          ? device.backend
                          : StrCat(device.backend, ":", device.ordinal));
  }
  if (!targets.empty()) options.target = StrJoin(targets, ",");
  return options;
}

}  // namespace encore::cache
