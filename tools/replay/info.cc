#include <array>
#include <map>
#include <set>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/device_code.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using runtime::CompiledGraph;
using runtime::SlotId;

constexpr std::array<const char*, 5> kSteps = {"allocate", "copy", "launch",
                                               "deallocate", "invoke"};
constexpr std::array<const char*, 6> kRoles = {
    "input", "output", "parameter", "derived", "constant", "temporary"};

std::string Hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes)
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

Json SectionsJson(const cache::Container& container) {
  Json sections = Json::array();
  for (const cache::Section& section : container.sections()) {
    Json json;
    json["type"] = std::string(cache::Name(section.type));
    json["index"] = section.index;
    json["offset"] = section.offset;
    json["bytes"] = section.length;
    json["checksum"] = Hex(section.checksum);
    sections.push_back(std::move(json));
  }
  return sections;
}

Json PortsJson(const CompiledGraph& graph, std::span<const SlotId> slots,
               const std::vector<std::string>& names) {
  Json ports = Json::array();
  for (size_t i = 0; i < slots.size(); ++i) {
    Json json;
    json["name"] = i < names.size() ? Json(names[i]) : Json(nullptr);
    if (slots[i].value() >= graph.slots.size()) {
      json["dtype"] = nullptr;
      json["shape"] = nullptr;
      ports.push_back(std::move(json));
      continue;
    }
    const TensorType& type = graph.slot(slots[i]).type;
    json["dtype"] = std::string(Name(type.dtype));
    json["shape"] = type.shape.is_constant() ? Json(type.shape.ConstantDims())
                                             : Json(type.shape.ToString());
    ports.push_back(std::move(json));
  }
  return ports;
}

Json CountSteps(const runtime::Plan& plan) {
  std::array<int64_t, kSteps.size()> counts{};
  for (const runtime::Step& step : plan.steps) ++counts[step.op.index()];
  Json json;
  json["steps"] = plan.steps.size();
  for (size_t i = 0; i < kSteps.size(); ++i) json[kSteps[i]] = counts[i];
  return json;
}

// Bytes of the arenas that a plan allocates, by pool.
Json ArenasJson(const CompiledGraph& graph) {
  // Unsigned: of a damaged plan sizes may be any.
  std::map<uint32_t, uint64_t> bytes;
  for (const runtime::Slot& slot : graph.slots) {
    if (slot.is_arena && slot.bytes.is_constant()) {
      bytes[slot.pool.value()] += static_cast<uint64_t>(slot.bytes.constant());
    }
  }
  Json json = Json::array();
  for (const auto& [pool, size] : bytes) {
    json.push_back({{"pool", pool}, {"bytes", size}});
  }
  return json;
}

Json SlotsJson(const CompiledGraph& graph) {
  std::array<int64_t, kRoles.size()> counts{};
  int64_t views = 0;
  for (const runtime::Slot& slot : graph.slots) {
    ++counts[static_cast<size_t>(slot.role)];
    views += slot.base.valid() && slot.base.value() < graph.slots.size() &&
             !graph.slot(slot.base).is_arena;
  }
  Json json;
  json["all"] = graph.slots.size();
  for (size_t i = 0; i < kRoles.size(); ++i) json[kRoles[i]] = counts[i];
  json["views"] = views;
  return json;
}

Json KernelBinariesJson(const CompiledGraph& graph) {
  std::map<std::string, int64_t> by_backend;
  std::set<std::string> requirements;
  for (const runtime::KernelBinary& program : graph.kernel_binaries) {
    ++by_backend[program.backend];
    requirements.insert(program.requirements.begin(),
                        program.requirements.end());
  }
  int64_t blob_bytes = 0, executable_bytes = 0;
  for (const runtime::Blob& blob : graph.blobs) {
    (blob.executable ? executable_bytes : blob_bytes) +=
        static_cast<int64_t>(blob.bytes.size());
  }
  Json json;
  json["all"] = graph.kernel_binaries.size();
  json["by_backend"] = by_backend;
  json["requires"] = requirements;
  json["executable_bytes"] = executable_bytes;
  json["constant_bytes"] = blob_bytes;
  return json;
}

Json PlanJson(const CompiledGraph& graph) {
  Json json;
  json["slots"] = SlotsJson(graph);
  json["plans"] = graph.plans.size();
  const auto count = [&](runtime::PlanId plan) {
    return plan.valid() && plan.value() < graph.plans.size()
               ? CountSteps(graph.plan(plan))
               : Json(nullptr);
  };
  json["prepare"] = count(graph.prepare);
  json["run"] = count(graph.run);
  json["arenas"] = ArenasJson(graph);
  json["kernel_binaries"] = KernelBinariesJson(graph);
  json["device_code"] = DeviceCodeJson(graph);
  json["library_recipes"] = LibraryRecipesJson(graph);
  return json;
}

Json InfoJson(const ReplayFile& file) {
  const cache::Package& package = file.package;
  Json json;
  json["file"] = file.path;
  json["kind"] = Name(file.kind);
  json["version"] = file.container->version();
  json["bytes"] = file.container->size();
  json["key"] = file.ingredients ? Json(package.key().ToHex()) : Json(nullptr);
  json["ingredients"] = nullptr;
  if (file.ingredients) {
    // At once: each insertion of a name would look through those before it.
    const auto& parts = file.ingredients->parts;
    json["ingredients"] = Json::object_t(parts.begin(), parts.end());
  }
  json["sections"] = SectionsJson(*file.container);
  if (!file.has_plan()) return json;
  const CompiledGraph& graph = *package.graph;
  json["inputs"] = PortsJson(graph, graph.inputs, package.names.inputs);
  json["outputs"] = PortsJson(graph, graph.outputs, package.names.outputs);
  json["parameters"] =
      PortsJson(graph, graph.parameters, package.names.parameters);
  json["plan"] = PlanJson(graph);
  int64_t weights = 0, derived = 0;
  for (const Literal& parameter : package.parameters) {
    if (!IsString(parameter.dtype())) {
      weights += static_cast<int64_t>(parameter.bytes().size());
    }
  }
  for (const runtime::Blob& blob : package.derived) {
    derived += static_cast<int64_t>(blob.bytes.size());
  }
  json["weight_bytes"] = weights;
  json["derived_bytes"] = derived;
  json["calls"] = package.calls.size();
  return json;
}

void PrintPorts(const char* what, const Json& ports) {
  const auto text = [](const Json& value) {
    return value.is_null() ? "-" : PrintableName(value.get<std::string>());
  };
  for (const Json& port : ports) {
    Printf("  %-10s %s: %s%s\n", what, text(port["name"]).c_str(),
           text(port["dtype"]).c_str(), port["shape"].dump().c_str());
  }
}

void PrintInfo(const ReplayFile& file, const Json& json) {
  Printf("%s: %s, version %llu, %zu bytes\n", PrintableName(file.path).c_str(),
         Name(file.kind),
         static_cast<unsigned long long>(file.container->version()),
         file.container->size());
  if (file.ingredients) {
    Printf("  key        %s\n", json["key"].get<std::string>().c_str());
    for (const auto& [name, value] : file.ingredients->parts) {
      Printf("    %s = %s\n", PrintableName(name).c_str(),
             PrintableName(value).c_str());
    }
  }
  for (const Json& section : json["sections"]) {
    Printf("  section    %-14s %5llu  at %10llu  %10llu bytes  %s\n",
           section["type"].get<std::string>().c_str(),
           section["index"].get<unsigned long long>(),
           section["offset"].get<unsigned long long>(),
           section["bytes"].get<unsigned long long>(),
           section["checksum"].get<std::string>().c_str());
  }
  if (!file.has_plan()) return;
  PrintPorts("input", json["inputs"]);
  PrintPorts("output", json["outputs"]);
  const Json& plan = json["plan"];
  Printf("  parameters %zu, %s bytes; derived %s bytes; calls %s\n",
         json["parameters"].size(), json["weight_bytes"].dump().c_str(),
         json["derived_bytes"].dump().c_str(), json["calls"].dump().c_str());
  Printf("  slots      %s\n", plan["slots"].dump().c_str());
  Printf("  prepare    %s\n", plan["prepare"].dump().c_str());
  Printf("  run        %s\n", plan["run"].dump().c_str());
  Printf("  arenas     %s\n", plan["arenas"].dump().c_str());
  Printf("  kernels    %s\n",
         plan["kernel_binaries"]
             .dump(-1, ' ', false, Json::error_handler_t::replace)
             .c_str());
  Print(DeviceCodeText(plan["device_code"]));
  Print(LibraryRecipesText(plan["library_recipes"]));
}

}  // namespace

StatusOr<int> ReplayInfo(ReplayContext& context, const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  const Json json = InfoJson(file);
  context.flags.json.Write(json);
  if (!context.quiet()) PrintInfo(file, json);
  return kExitOk;
}

}  // namespace encore::tools
