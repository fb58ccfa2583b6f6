// What a session is made with, what a load is asked for, and what a session
// counts.
#ifndef ENCORE_CACHE_SESSION_SESSION_OPTIONS_H_
#define ENCORE_CACHE_SESSION_SESSION_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/options.h"
#include "encore/cache/key/key.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// What a session compiles with; standard_session.h has Encore's own.
struct Compiler {
  // `store` and `passes` may be null.
  std::function<StatusOr<runtime::CompiledGraph>(
      const Graph& graph, const backends::CompileOptions& options,
      backends::ArtifactStore* store, opt::PassObserver* passes)>
      compile;
  // A device for each of graph.devices, in order.
  std::function<StatusOr<std::vector<std::shared_ptr<runtime::Device>>>(
      const runtime::CompiledGraph& graph)>
      devices;
  // The fingerprint of what `options` compile for.
  std::function<StatusOr<Target>(const backends::CompileOptions& options)>
      target;
  // What a compile chooses (backends/compile.h); empty: it does not say.
  std::function<Status(const Graph& graph,
                       const backends::CompileOptions& options,
                       backends::LoweringReport* report)>
      report_lowering;
  bool symbolic_sizes = false;
};

struct SessionOptions {
  backends::CompileOptions compile;
  Compiler compiler;
  std::shared_ptr<DiskStore> disk;  // null: nothing is kept on disk
  int64_t memory_bytes = int64_t{1} << 30;
  // Compile on a hit as well, and refuse (Internal) where the bytes differ.
  bool check = false;
  // Look at every checksum, whatever is remembered.
  bool verify = false;
  // What a miss makes is written on a thread of its own: Load returns before it
  // is on disk, Session::Flush and the session's end after (write_behind.h).
  // `log` is called on that thread too.
  bool write_behind = false;
  // How long to wait for another process that compiles the same graph.
  std::chrono::milliseconds max_wait = std::chrono::minutes(2);
  Log log = LogToStderr;
};

struct SessionStatistics {
  int64_t memory_hits = 0, disk_hits = 0, misses = 0;
  // Graphs that have no key, compiled each time.
  int64_t uncached = 0;
  // By compiles, of the kernels that a backend keeps: found, and generated.
  int64_t kernels_found = 0, kernels_made = 0;
  // Likewise of e-graphs: those whose choices were found, and those that were
  // saturated and kept.
  int64_t rewrites_found = 0, rewrites_made = 0;
  int64_t weights_restored = 0, weights_prepared = 0;
  // Of weights that were prepared: the derived slots that were found among
  // those of other graphs, and those that were made.
  int64_t parts_found = 0, parts_made = 0;
  double compile_ms = 0, load_ms = 0;
};

struct LoadOptions {
  // What Anticipate was given; empty: nothing was anticipated.
  std::string source;
  // The files that hold weights, as the importer mapped them
  // (weight_identity.h). A list that is not complete costs time alone.
  MappedFiles files;
  // Values of the graph's symbols, where sizes are not symbolic: by number.
  std::vector<std::optional<int64_t>> sizes;
  // Is told of the passes that this load runs; null: nobody is. What is found
  // compiled, or compiled at that moment by another thread, runs none of those
  // after the key. Outlives the load.
  opt::PassObserver* passes = nullptr;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_SESSION_OPTIONS_H_
