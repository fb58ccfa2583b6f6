#include "encore/cache/package/package_loader.h"

#include <span>
#include <string_view>
#include <utility>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/package/parameter_blobs.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/plan_verifier.h"

namespace encore::cache {
namespace {

using runtime::CompiledGraph;
using runtime::Slot;
using runtime::SlotId;

Status Differ(std::string_view what, size_t has, size_t expected) {
  return DataLossError(
      StrCat("package: ", has, " ", what, ", the plan has ", expected));
}

// Whether a tensor may be the value of a slot. Symbols are bound when the
// tensor is, so only what is constant is compared.
Status CheckTensor(const CompiledGraph& graph, SlotId id,
                   const Literal& literal, std::string_view what) {
  const TensorType& type = graph.slot(id).type;
  bool fits =
      type.dtype == literal.dtype() && type.shape.rank() == literal.rank();
  for (int i = 0; fits && i < literal.rank(); ++i) {
    fits = !type.shape[i].is_constant() ||
           type.shape[i].constant() == literal.dims()[i];
  }
  if (fits) return OkStatus();
  return DataLossError(StrCat("package: ", what, " is ", literal.type(),
                              ", which is not of the plan's type"));
}

Status CheckTensors(const CompiledGraph& graph, std::span<const SlotId> slots,
                    std::span<const Literal> tensors, std::string_view what) {
  if (tensors.size() != slots.size()) {
    return Differ(StrCat(what, "s"), tensors.size(), slots.size());
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(
        CheckTensor(graph, slots[i], tensors[i], StrCat(what, " ", i)));
  }
  return OkStatus();
}

Status CheckDerived(const Package& package) {
  if (package.derived.empty()) return OkStatus();
  size_t count = 0;
  for (const Slot& slot : package.graph->slots) {
    if (slot.role != runtime::SlotRole::kDerived) continue;
    if (count < package.derived.size() &&
        static_cast<int64_t>(package.derived[count].bytes.size()) !=
            slot.bytes.constant()) {
      return DataLossError(
          StrCat("package: derived slot ", count, " has another size"));
    }
    ++count;
  }
  if (count == package.derived.size()) return OkStatus();
  return Differ("derived slots", package.derived.size(), count);
}

}  // namespace

Status CheckPackage(const Package& package) {
  const CompiledGraph& graph = *package.graph;
  if (const Status plan = runtime::VerifyPlan(graph); !plan.ok()) {
    return DataLossError(StrCat("package: plan: ", Message(plan)));
  }
  const auto& names = package.names;
  if (names.inputs.size() != graph.inputs.size()) {
    return Differ("names of inputs", names.inputs.size(), graph.inputs.size());
  }
  if (names.outputs.size() != graph.outputs.size()) {
    return Differ("names of outputs", names.outputs.size(),
                  graph.outputs.size());
  }
  if (names.parameters.size() != graph.parameters.size()) {
    return Differ("names of parameters", names.parameters.size(),
                  graph.parameters.size());
  }
  ENCORE_RETURN_IF_ERROR(
      CheckTensors(graph, graph.parameters, package.parameters, "parameter"));
  ENCORE_RETURN_IF_ERROR(CheckDerived(package));
  for (const Package::Call& call : package.calls) {
    ENCORE_RETURN_IF_ERROR(
        CheckTensors(graph, graph.inputs, call.inputs, "input"));
    ENCORE_RETURN_IF_ERROR(
        CheckTensors(graph, graph.outputs, call.outputs, "output"));
  }
  return OkStatus();
}

Loaded::Names NamesOf(const Package& package) {
  return {package.names.inputs, package.names.outputs, package.names.origins};
}

StatusOr<std::shared_ptr<const Loaded>> LoadPackage(
    const Package& package, const DeviceMaker& devices,
    runtime::ThreadPool* threads) {
  ENCORE_RETURN_IF_ERROR(CheckPackage(package));
  ENCORE_ASSIGN_OR_RETURN(auto made, devices(*package.graph));
  auto compiled = std::make_shared<Compiled>();
  compiled->key = package.key();
  compiled->found_in = FoundIn::kPackage;
  compiled->origin = CodeOrigin::kForeign;
  ENCORE_ASSIGN_OR_RETURN(compiled->ingredients,
                          DecodeIngredients(package.ingredients));
  ENCORE_ASSIGN_OR_RETURN(
      compiled->executable,
      runtime::Executable::Load(package.graph, std::move(made), threads));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<runtime::Blob> parameters,
                          BlobsOf(package.parameters));
  auto weights =
      package.derived.empty()
          ? runtime::Weights::Prepare(compiled->executable, parameters, threads)
          : runtime::Weights::Restore(compiled->executable, parameters,
                                      package.derived);
  if (!weights.ok()) return weights.status();
  return std::make_shared<const Loaded>(std::move(compiled),
                                        *std::move(weights), NamesOf(package),
                                        FoundIn::kPackage, threads);
}

}  // namespace encore::cache
