// BoundGraph: a graph compiled with one family of kernels, bound and ready to
// be replayed on one thread pool, for benchmarks.
#ifndef ENCORE_BACKENDS_CPU_BOUND_GRAPH_H_
#define ENCORE_BACKENDS_CPU_BOUND_GRAPH_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"

namespace encore::backends::cpu {

class BoundGraph {
 public:
  // Planned for pool->size() threads. Parameters without data and inputs are
  // 0.5 where they are f32 and 0 where not. `pool` outlives the object. Dies
  // where the graph does not compile: benchmarks have nothing else to do.
  BoundGraph(const Graph& graph, CpuKernels kernels, runtime::ThreadPool* pool);

  void operator()() { Replay(nullptr); }
  void Replay(runtime::Profiler* profiler);

  const runtime::CompiledGraph& compiled() const { return *compiled_; }
  std::span<const runtime::Step> steps() const {
    return compiled_->plan(compiled_->run).steps;
  }
  // What a step gives to the vendor's library, if it does.
  std::optional<VendorProgram> VendorOf(const runtime::Step& step) const;

 private:
  std::shared_ptr<const runtime::CompiledGraph> compiled_;
  std::vector<runtime::Blob> inputs_;
  std::unique_ptr<runtime::Replayer> replayer_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_BOUND_GRAPH_H_
