// Loaded: a compiled graph on its devices with one set of weights, ready to
// replay, and the caller's names for its slots.
#ifndef ENCORE_CACHE_PACKAGE_LOADED_H_
#define ENCORE_CACHE_PACKAGE_LOADED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"

namespace encore::cache {

// Where a compiled graph came from; a package brings its own.
enum class FoundIn : uint8_t { kMemory, kDisk, kCompiled, kPackage };

// A compiled graph on its devices; shared by all models that it serves.
struct Compiled {
  Digest key;  // zeros where the graph has none
  KeyIngredients ingredients;
  // The measurements that it was compiled with (measurement_table.h), encoded.
  std::string measurements;
  std::shared_ptr<const runtime::Executable> executable;
  FoundIn found_in = FoundIn::kCompiled;
  // Of its code. Nothing that foreign code computed enters a store.
  CodeOrigin origin = CodeOrigin::kOwn;
  // By the clock (CompileOptions::max_seconds): of no use to others who ask for
  // this key.
  bool cut_short = false;
};
using CompiledPtr = std::shared_ptr<const Compiled>;

// Thread-safe: each Run makes a replayer of its own. Whoever replays often
// keeps one from NewReplayer.
class Loaded {
 public:
  struct Names {
    std::vector<std::string> inputs, outputs;
    // By stencil number; empty where a node has none.
    std::vector<std::string> origins;
  };

  Loaded(CompiledPtr compiled, std::shared_ptr<const runtime::Weights> weights,
         Names names, FoundIn found_in, runtime::ThreadPool* threads,
         std::optional<Digest> weights_digest = std::nullopt)
      : compiled_(std::move(compiled)),
        weights_(std::move(weights)),
        names_(std::move(names)),
        found_in_(found_in),
        threads_(threads),
        weights_digest_(std::move(weights_digest)) {}

  // The same compiled graph and weights under other names.
  std::shared_ptr<const Loaded> WithNames(Names names) const;

  StatusOr<std::unique_ptr<runtime::Replayer>> NewReplayer() const;

  // Replays a replayer of this graph. An error begins with the caller's names
  // of the nodes that the step at fault computes, where there is one.
  Status Replay(runtime::Replayer& replayer,
                runtime::Profiler* profiler = nullptr) const;

  // One call; the outputs in order, as copies in host memory. InvalidArgument
  // where inputs do not fit, naming the input.
  StatusOr<std::vector<Literal>> Run(std::span<const Literal> inputs) const;
  // The same on a replayer of this graph, whose inputs have to be bound anew
  // afterwards, also where the call failed: they were in memory of its own.
  StatusOr<std::vector<Literal>> Run(runtime::Replayer& replayer,
                                     std::span<const Literal> inputs) const;

  const Compiled& compiled() const { return *compiled_; }
  const runtime::CompiledGraph& graph() const {
    return compiled_->executable->graph();
  }
  const std::shared_ptr<const runtime::Weights>& weights() const {
    return weights_;
  }
  // SHA-256 of the parameters that the weights were prepared from, as
  // cache/session/weight_identity.h has it, where who loaded knew it.
  const std::optional<Digest>& weights_digest() const {
    return weights_digest_;
  }
  const Names& names() const { return names_; }
  // Where this load found the compiled graph.
  FoundIn found_in() const { return found_in_; }

 private:
  const CompiledPtr compiled_;
  const std::shared_ptr<const runtime::Weights> weights_;
  const Names names_;
  const FoundIn found_in_;
  runtime::ThreadPool* const threads_;
  const std::optional<Digest> weights_digest_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_PACKAGE_LOADED_H_
