// DAG extraction: the cheapest acyclic choice of one node per needed class,
// each chosen node paid for once. The problem is NP-hard; Extract() keeps the
// best solution it has when its time or work is spent, and proves optimality
// where it can. README.md tells the method.
//
// Deterministic for a given problem, seed and work limit (see Options).
// Thread-safe: calls share nothing that changes.
#ifndef ENCORE_OPT_EXTRACT_EXTRACT_H_
#define ENCORE_OPT_EXTRACT_EXTRACT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "encore/ir/support/status.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

struct Progress {
  double seconds = 0;
  double cost = 0;
  std::optional<double> lower_bound;
};

struct Options {
  // Wall-clock budget, counted from `begin`. 0: the quick methods only.
  double seconds = 10;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  // Where set it replaces `seconds`: at most about that many evaluations of a
  // move or of a node's cost. The result is then reproducible to the byte.
  std::optional<uint64_t> work;
  // Of limited work the greedy method takes all that it wants, and only what it
  // leaves is searched: for many small problems, where time counts more than
  // the last percent.
  bool greedy_first = false;
  uint64_t seed = 1;
  // Set from elsewhere (a signal handler) to stop early with the best so far.
  const std::atomic<bool>* interrupt = nullptr;
  // A known solution, of the problem's size, or empty; the result is at most as
  // dear. Ignored where it is no solution.
  std::span<const NodeIndex> start = {};
  // Called on the calling thread about five times a second, or empty.
  std::function<void(const Progress&)> progress;
};

struct Statistics {
  double tree_cost = 0;    // infinity where there was none
  double greedy_cost = 0;  // likewise
  uint64_t work = 0;       // evaluations done
  uint32_t reduced_nodes = 0;
  uint32_t components = 0;  // parts that are independent of each other
  uint32_t proven_components = 0;
};

struct Result {
  // False where some root has no acyclic choice of finite cost; then only
  // `statistics` means something.
  bool feasible = false;
  Selection choice;  // kNoNode for classes the roots do not reach
  double cost = 0;
  // No solution is cheaper; absent where nothing is known.
  std::optional<double> lower_bound;
  bool optimal = false;  // then lower_bound == cost
  Statistics statistics;
};

// Whether an exact solver that missed the end of some call is still at work on
// a thread of its own. The normal end of the program waits for it (seconds at
// most); std::_Exit does not.
bool SolverStillRunning();

// Fails only where Validate(problem) does.
StatusOr<Result> Extract(const Problem& problem, const Options& options);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_EXTRACT_H_
