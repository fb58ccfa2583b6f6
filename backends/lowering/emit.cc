#include "encore/backends/lowering/emit.h"

#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/lowering/emitter.h"
#include "encore/backends/lowering/plan_draft.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::backends {
namespace {

using runtime::kHostPool;
using runtime::PoolId;
using runtime::Slot;
using runtime::SlotId;
using runtime::SlotRole;

// Where the values of the symbols come from: dims of inputs that are one. Those
// that nodes define come later.
Status AddSymbols(const Graph& graph, EmitShared* shared) {
  runtime::CompiledGraph* compiled = shared->graph;
  std::vector<bool>& found = shared->symbols_found;
  found.resize(graph.symbols().size());
  for (const Symbol& symbol : graph.symbols()) {
    runtime::SymbolInfo info;
    info.lower = symbol.lower;
    info.upper = symbol.upper;
    compiled->symbols.push_back(info);
  }
  uint32_t input = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    const Shape& shape = graph.shape(argument.value);
    for (int d = 0; d < shape.rank(); ++d) {
      const std::optional<uint32_t> symbol = shape[d].symbol();
      if (!symbol.has_value() || found[*symbol]) continue;
      found[*symbol] = true;
      compiled->symbols[*symbol].index = input;
      compiled->symbols[*symbol].element = static_cast<uint32_t>(d);
    }
    ++input;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i] && !graph.symbols()[i].at_run_time) {
      return InvalidArgumentError(
          StrCat("no extent of an input determines the symbol ",
                 graph.symbols()[i].name));
    }
  }
  return OkStatus();
}

// A symbol that no node defines is used by nothing that is left; its value is
// that of a constant.
void AddUnusedSymbols(EmitShared* shared) {
  runtime::CompiledGraph* graph = shared->graph;
  for (size_t i = 0; i < graph->symbols.size(); ++i) {
    if (shared->symbols_found[i]) continue;
    Slot slot;
    slot.role = SlotRole::kConstant;
    slot.type = {DType::kI64, Shape(), ValueKind::kTensor};
    slot.bytes = runtime::DenseBytes(slot.type);
    const Literal bound = Literal::Scalar<int64_t>(graph->symbols[i].lower);
    slot.blob = runtime::AddBlob(graph, runtime::Blob::Copy(bound.bytes()));
    graph->symbols[i].source = runtime::SymbolInfo::Source::kSlot;
    graph->symbols[i].index = runtime::AddSlot(graph, std::move(slot)).value();
  }
}

void AddDevices(const Placement& placement, EmitShared* shared) {
  for (size_t i = 0; i < placement.backends.size(); ++i) {
    runtime::CompiledGraph* graph = shared->graph;
    const runtime::DeviceId device(
        static_cast<uint32_t>(graph->devices.size()));
    PoolId pool = kHostPool;
    if (!placement.backends[i]->uses_host_memory()) {
      pool = PoolId(static_cast<uint32_t>(graph->pools.size()));
      graph->pools.push_back({device});
    }
    graph->devices.push_back({std::string(placement.backends[i]->name()),
                              placement.ordinals[i], pool});
    shared->devices.push_back(device);
    shared->pools.push_back(pool);
  }
}

// The memory that `kernel`, the first that reads a port or the one that makes
// it, works on; the host's where there is none.
PoolId PoolOf(const ScopeKernel* kernel, const EmitShared& shared) {
  return kernel == nullptr ? kHostPool : shared.pools[kernel->site.backend];
}

SlotId AddPort(SlotRole role, const TensorType& type, PoolId pool,
               runtime::CompiledGraph* graph) {
  Slot slot;
  slot.role = role;
  slot.type = type;
  slot.pool = pool;
  slot.bytes = runtime::DenseBytes(type);
  return runtime::AddSlot(graph, std::move(slot));
}

}  // namespace

Status EmitSteps(const Scope& scope, const Placement& placement, Ports ports,
                 const KernelTable& table, runtime::CompiledGraph* compiled) {
  const Graph& graph = *scope.graph;
  EmitShared shared{placement, table, compiled};
  ENCORE_RETURN_IF_ERROR(AddSymbols(graph, &shared));
  AddDevices(placement, &shared);
  Emitter emitter(scope, &shared);
  const bool on_device = ports == Ports::kDevice;
  for (const Graph::Argument& argument : graph.arguments()) {
    const bool parameter = argument.is_parameter;
    const TensorType& type = graph.type(argument.value);
    if (parameter &&
        (type.kind != ValueKind::kTensor || IsString(type.dtype))) {
      return InvalidArgumentError(
          StrCat("parameter ", Quote(argument.name), " is ", type,
                 ", expected numbers: others are inputs or constants"));
    }
    const ScopeKernel* user =
        on_device && !parameter ? FirstUserOf(scope, argument.value) : nullptr;
    const SlotId slot =
        AddPort(parameter ? SlotRole::kParameter : SlotRole::kInput, type,
                PoolOf(user, shared), compiled);
    (parameter ? compiled->parameters : compiled->inputs).push_back(slot);
    emitter.Bind(argument.value, slot);
  }
  for (const Graph::Output& output : graph.outputs()) {
    const ScopeKernel* maker =
        on_device ? MakerOf(scope, output.value) : nullptr;
    compiled->outputs.push_back(AddPort(SlotRole::kOutput,
                                        graph.type(output.value),
                                        PoolOf(maker, shared), compiled));
  }
  ENCORE_RETURN_IF_ERROR(emitter.Run(compiled->outputs));
  AddUnusedSymbols(&shared);
  if (!shared.prepare.empty()) {
    compiled->prepare = runtime::AddPlan(compiled, {std::move(shared.prepare)});
  }
  compiled->run = runtime::AddPlan(compiled, {emitter.TakeSteps()});
  return OkStatus();
}

}  // namespace encore::backends
