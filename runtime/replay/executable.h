// Executable: a compiled graph whose kernels are loaded on this machine's
// devices, ready for any number of replayers. Immutable and safe to share
// between threads.
#ifndef ENCORE_RUNTIME_REPLAY_EXECUTABLE_H_
#define ENCORE_RUNTIME_REPLAY_EXECUTABLE_H_

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

class Executable {
 public:
  // Verifies `graph` (plan_verifier.h), loads its kernels and puts its
  // constants where they are read. devices[i] stands for graph.devices[i] and
  // must be of its backend. Errors: InvalidArgument for a graph that does not
  // verify, and what Device::Load gives.
  // Cost: linear in the graph's steps, plus loading each artifact once.
  static StatusOr<std::shared_ptr<const Executable>> Load(
      std::shared_ptr<const CompiledGraph> graph,
      std::vector<std::shared_ptr<Device>> devices, ThreadPool* threads);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const CompiledGraph& graph() const { return *graph_; }
  std::span<const std::shared_ptr<Device>> devices() const { return devices_; }
  const ReplayCode& run() const { return run_; }
  // Null where the graph derives nothing.
  const ReplayCode* prepare() const { return prepare_.get(); }
  // The prepare plan of `variant`, which is graph() but for the steps of its
  // plans and more temporaries. `variant` need not outlive the code.
  ReplayCode PrepareOf(const CompiledGraph& variant) const;
  // The graph with plans that need less memory and more time (smaller_plan.h),
  // flattened; made at the first call, kept after that. For where memory for
  // the graph's own plans is not there. Errors of SmallerPlan.
  struct Smaller {
    CompiledGraph graph;
    ReplayCode run;
    std::unique_ptr<ReplayCode> prepare;  // as prepare()
  };
  StatusOr<const Smaller*> smaller() const;
  // Slots of role kDerived, in the order of their numbers.
  std::span<const SlotId> derived() const { return derived_; }
  // Whether a replay may read parameter i of the signature; others are for the
  // prepare plan alone.
  bool replay_reads(size_t parameter) const { return replay_reads_[parameter]; }
  // Slots of role kConstant and, beside them, where their bytes are.
  std::span<const SlotId> constants() const { return constants_; }
  void* constant_address(size_t i) const { return constant_addresses_[i]; }
  // Kernel::note of a kernel binary of the graph.
  std::string_view note(KernelBinaryId binary) const {
    return kernels_[binary.value()]->note();
  }
  // The notes of all kernels, each once, in the order of the alphabet: "3 of 7
  // kernels: note".
  std::vector<std::string> Notes() const;
  // The device of a pool; null for host memory.
  Device* pool_device(PoolId pool) const;

 private:
  Executable() = default;
  Status LoadKernels(ThreadPool* threads);
  Status PlaceConstants();
  StatusOr<std::unique_ptr<Smaller>> MakeSmaller() const;

  std::shared_ptr<const CompiledGraph> graph_;
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // per kernel binary
  ReplayCode run_;
  std::unique_ptr<ReplayCode> prepare_;
  std::vector<SlotId> derived_, constants_;
  std::vector<bool> replay_reads_;  // by parameter
  std::vector<void*> constant_addresses_;
  mutable std::once_flag smaller_once_;
  mutable StatusOr<std::unique_ptr<Smaller>> smaller_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_EXECUTABLE_H_
