#include "encore/runtime/replay/executable.h"

#include <cstdint>
#include <map>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/warm_pool.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/plan/smaller_plan.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/replay/flatten_plan.h"

namespace encore::runtime {
namespace {

// What all kernel binaries of a device need, loaded in one request.
Status LoadOn(const CompiledGraph& graph, DeviceId id, Device* device,
              std::span<const DeviceId> device_of, ThreadPool* threads,
              std::vector<std::unique_ptr<Kernel>>* kernels) {
  std::vector<LoadRequest> requests;
  std::vector<uint32_t> binaries;
  for (uint32_t p = 0; p < graph.kernel_binaries.size(); ++p) {
    if (device_of[p] != id) continue;
    const KernelBinary& binary = graph.kernel_binaries[p];
    LoadRequest request{&binary, {}};
    if (binary.artifact.valid()) {
      request.artifact = graph.blobs[binary.artifact.value()].bytes;
    }
    requests.push_back(request);
    binaries.push_back(p);
  }
  if (requests.empty()) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(auto loaded, device->Load(requests, threads));
  if (loaded.size() != requests.size()) {
    return InternalError(StrCat("device ", device->backend(), " loaded ",
                                loaded.size(), " of ", requests.size(),
                                " kernel binaries"));
  }
  for (size_t i = 0; i < loaded.size(); ++i) {
    (*kernels)[binaries[i]] = std::move(loaded[i]);
  }
  return OkStatus();
}

// The storage that each slot which the run plan or a plan below it names lies
// in, as slots' numbers.
std::vector<bool> StorageOfRun(const CompiledGraph& graph) {
  std::vector<bool> used(graph.slots.size());
  const auto use = [&](SlotId slot) {
    while (graph.slot(slot).base.valid()) slot = graph.slot(slot).base;
    used[slot.value()] = true;
  };
  for (const SlotId output : graph.outputs) use(output);
  std::vector<PlanId> plans = {graph.run};
  while (!plans.empty()) {
    const PlanId id = plans.back();
    plans.pop_back();
    for (const Step& step : graph.plan(id).steps) {
      ForEachAccess(graph, step, [&](SlotId slot, bool) { use(slot); });
      const auto inner = SubPlansOf(step);
      plans.insert(plans.end(), inner.begin(), inner.end());
    }
  }
  return used;
}

}  // namespace

StatusOr<std::shared_ptr<const Executable>> Executable::Load(
    std::shared_ptr<const CompiledGraph> graph,
    std::vector<std::shared_ptr<Device>> devices, ThreadPool* threads) {
  ENCORE_RETURN_IF_ERROR(VerifyPlan(*graph));
  if (devices.size() != graph->devices.size()) {
    return InvalidArgumentError(StrCat("the graph has ", graph->devices.size(),
                                       " devices, given are ", devices.size()));
  }
  for (size_t d = 0; d < devices.size(); ++d) {
    const std::string& backend = graph->devices[d].backend;
    if (devices[d] == nullptr || devices[d]->backend() != backend) {
      return InvalidArgumentError(
          StrCat("device ", d, " must be of backend ", backend));
    }
  }
  std::shared_ptr<Executable> executable(new Executable);
  executable->graph_ = std::move(graph);
  executable->devices_ = std::move(devices);
  ENCORE_RETURN_IF_ERROR(executable->LoadKernels(threads));
  ENCORE_RETURN_IF_ERROR(executable->PlaceConstants());
  const CompiledGraph& loaded = *executable->graph_;
  const std::vector<bool> used = StorageOfRun(loaded);
  for (const SlotId parameter : loaded.parameters) {
    executable->replay_reads_.push_back(used[parameter.value()]);
  }
  const auto flatten = [&](PlanId plan) {
    return FlattenPlan(loaded, plan, executable->kernels_,
                       executable->devices_);
  };
  executable->run_ = flatten(loaded.run);
  if (loaded.prepare.valid()) {
    executable->prepare_ =
        std::make_unique<ReplayCode>(flatten(loaded.prepare));
  }
  return std::shared_ptr<const Executable>(std::move(executable));
}

std::vector<std::string> Executable::Notes() const {
  std::map<std::string_view, int64_t> counts;
  for (const auto& kernel : kernels_) {
    if (!kernel->note().empty()) ++counts[kernel->note()];
  }
  std::vector<std::string> lines;
  for (const auto& [note, count] : counts) {
    lines.push_back(StrCat(count, " of ", kernels_.size(), " kernels: ", note));
  }
  return lines;
}

ReplayCode Executable::PrepareOf(const CompiledGraph& variant) const {
  return FlattenPlan(variant, variant.prepare, kernels_, devices_);
}

StatusOr<std::unique_ptr<Executable::Smaller>> Executable::MakeSmaller() const {
  std::vector<bool> queued;
  for (const auto& device : devices_) {
    queued.push_back(device->queue_count() > 0);
  }
  auto smaller = std::make_unique<Smaller>();
  ENCORE_ASSIGN_OR_RETURN(smaller->graph, SmallerPlan(*graph_, queued));
  const CompiledGraph& graph = smaller->graph;
  ENCORE_RETURN_IF_ERROR(VerifyPlan(graph));
  smaller->run = FlattenPlan(graph, graph.run, kernels_, devices_);
  if (graph.prepare.valid()) {
    smaller->prepare = std::make_unique<ReplayCode>(PrepareOf(graph));
  }
  return smaller;
}

StatusOr<const Executable::Smaller*> Executable::smaller() const {
  std::call_once(smaller_once_, [this] { smaller_ = MakeSmaller(); });
  if (!smaller_.ok()) return smaller_.status();
  return smaller_->get();
}

Status Executable::LoadKernels(ThreadPool* threads) {
  const CompiledGraph& graph = *graph_;
  kernels_.resize(graph.kernel_binaries.size());
  // A kernel binary is loaded on the device that launches it; VerifyPlan has
  // seen to it that there is one only.
  std::vector<DeviceId> device_of(graph.kernel_binaries.size());
  for (const Plan& plan : graph.plans) {
    for (const Step& step : plan.steps) {
      if (const Launch* launch = LaunchOf(step)) {
        device_of[launch->binary.value()] = launch->device;
      }
    }
  }
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    ENCORE_RETURN_IF_ERROR(LoadOn(graph, DeviceId(d), devices_[d].get(),
                                  device_of, threads, &kernels_));
  }
  return OkStatus();
}

Status Executable::PlaceConstants() {
  for (uint32_t s = 0; s < graph_->slots.size(); ++s) {
    const Slot& slot = graph_->slots[s];
    if (slot.role == SlotRole::kDerived) derived_.push_back(SlotId(s));
    if (slot.role != SlotRole::kConstant) continue;
    const std::byte* bytes =
        graph_->blobs[slot.blob.value()].bytes.data() + slot.blob_offset;
    // Replays only read constants.
    void* address = const_cast<std::byte*>(bytes);
    if (Device* device = pool_device(slot.pool); device != nullptr) {
      const int64_t size = slot.bytes.constant();
      ENCORE_ASSIGN_OR_RETURN(address, device->Allocate(size));
      constants_.push_back(SlotId(s));
      constant_addresses_.push_back(address);
      ENCORE_RETURN_IF_ERROR(
          device->CopyFromHost(address, bytes, size, nullptr));
    } else {
      constants_.push_back(SlotId(s));
      constant_addresses_.push_back(address);
    }
  }
  return OkStatus();
}

Executable::~Executable() {
  for (size_t i = 0; i < constant_addresses_.size(); ++i) {
    const Slot& slot = graph_->slot(constants_[i]);
    Device* device = pool_device(slot.pool);
    if (device == nullptr) continue;
    device->Deallocate(constant_addresses_[i], slot.bytes.constant());
  }
}

Device* Executable::pool_device(PoolId pool) const {
  const DeviceId device = graph_->pools[pool.value()].device;
  return device.valid() ? devices_[device.value()].get() : nullptr;
}

}  // namespace encore::runtime
