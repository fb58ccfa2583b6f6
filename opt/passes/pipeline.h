// The passes: what happens to a graph between import and lowering.
//
//   import -> before the key -> canonical form, cache key -> after the key ->
//   placement, fusion and lowering
//
// The two lists in pipeline.cc are the order in which passes run. A pass is a
// function of its graph and its options alone; it keeps the graph's name and
// its signature (names, order and types of arguments and outputs, with bound
// symbols replaced), gives a graph that passes the verifier
// (ir/graph/verifier.h), and looks at no parameter's data. What else it keeps,
// it says.
#ifndef ENCORE_OPT_PASSES_PIPELINE_H_
#define ENCORE_OPT_PASSES_PIPELINE_H_

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/opt/tensor/improve.h"

namespace encore::opt {

struct PassOptions {
  // By symbol: what specialize puts in its place; symbols past the end stay.
  std::vector<Dim> replacements;
  // What rewrite may do, by which costs, and what it is to tell.
  ImproveOptions rewrite;
};

struct Pass {
  std::string_view name;
  // A line each: the graphs that it is for, what holds of its result, and what
  // the two have in common.
  std::string_view takes, gives, keeps;
  // Nothing where the graph stays as it is.
  StatusOr<std::optional<Graph>> (*run)(const Graph& graph,
                                        const PassOptions& options);
};

// In the order in which they run. Specialize runs where a backend takes no
// symbolic sizes.
std::span<const Pass> PassesBeforeKey();
std::span<const Pass> PassesAfterKey();

// Both lists, one after the other.
std::vector<Pass> AllPasses();

// NotFound lists the names that there are.
StatusOr<Pass> FindPass(std::string_view name);

// One pass that ran.
struct PassRun {
  const Pass& pass;
  const Graph& before;
  const PassOptions& options;
  // Why it failed, of the pass itself or of the verifier; else the graph that
  // it gave, which is `before` where that stays as it is.
  Status status;
  const Graph& after;
  std::chrono::steady_clock::time_point begin, end;  // of the pass alone
};

// Is told of every pass that ran, by the thread that ran it.
class PassObserver {
 public:
  virtual ~PassObserver() = default;
  // Whether the verifier looks at what each pass gives.
  virtual bool verify() const = 0;
  // Also where the pass failed, which ends the pipeline.
  virtual void Ran(const PassRun& run) = 0;
};

// The graph after `passes`, in order. `observer` may be null. Where the
// observer, or ENCORE_VERIFY_PASSES in the environment (as in this repository's
// tests), asks for it, each result is verified: Internal names the pass that
// gave an unsound graph or another signature. Other errors are the passes' own.
StatusOr<Graph> RunPasses(std::span<const Pass> passes, const Graph& graph,
                          const PassOptions& options = {},
                          PassObserver* observer = nullptr);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_PIPELINE_H_
