// Mixed-integer linear programs, solved by HiGHS (https://highs.dev, MIT
// license), the exact sub-solver of extraction.
//
// The library is carried inside the program and loaded at the first use, so
// that a program that never extracts pays nothing, and none needs a file beside
// it.
#ifndef ENCORE_OPT_EXTRACT_MIP_H_
#define ENCORE_OPT_EXTRACT_MIP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace encore::opt::extract {

// minimize cost.x where row_lower <= A x <= row_upper, lower <= x <= upper.
struct MipModel {
  struct Term {
    int column;
    double factor;
  };

  // The new column's number.
  int AddColumn(double cost, double lower, double upper, bool integer);
  void AddRow(double lower, double upper, std::span<const Term> terms);

  int num_columns() const { return static_cast<int>(column_cost.size()); }

  std::vector<double> column_cost, column_lower, column_upper;
  std::vector<int> column_integer;  // 0 or 1
  std::vector<double> row_lower, row_upper;
  std::vector<int> row_start;
  std::vector<int> index;  // of columns, by row
  std::vector<double> value;
};

struct MipLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Reproducible: simplex iterations, checked at every branch-and-bound node.
  std::optional<uint64_t> iterations;
  const std::atomic<bool>* interrupt = nullptr;
  uint64_t seed = 1;
};

struct MipOutcome {
  bool optimal = false;          // `solution` attains the minimum
  bool infeasible = false;       // proven
  std::vector<double> solution;  // empty where none was found
  double bound;                  // no solution is cheaper; may be -infinity
  uint64_t iterations = 0;
};

// Whether the library could be loaded on this machine. Thread-safe.
bool MipAvailable();

// Whether a solver that missed its deadline is still at work. The normal end of
// the program waits for it; std::_Exit does not.
bool MipStillRunning();

// Solves from the solution `start` (empty: none). Deterministic but for the
// deadline and the interrupt. With a deadline the solver runs on a thread of
// its own; one that misses the deadline by 0.15 s is left behind to stop where
// it can (the program waits for it at its end), and only its bound is
// known. REQUIRES: MipAvailable().
MipOutcome SolveMip(MipModel model, std::vector<double> start,
                    const MipLimits& limits);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_MIP_H_
