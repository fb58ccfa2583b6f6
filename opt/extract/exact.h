// The exact solver of one part: extraction as a mixed-integer program.
#ifndef ENCORE_OPT_EXTRACT_EXACT_H_
#define ENCORE_OPT_EXTRACT_EXACT_H_

#include <cstdint>

#include "encore/opt/extract/mip.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// The greatest number of which all costs are multiples, or 0 where they are not
// all integers of moderate size.
double CostUnit(const Problem& problem);

// The least multiple of `unit` that is not below `bound`, give or take rounding
// errors of a thousandth of the unit; `bound` itself where unit is 0.
double RoundBoundUp(double bound, double unit);

enum class Branching { kNodesAndClasses, kClasses };

struct ExactOutcome {
  Selection selection;  // empty where none was found
  double cost = 0;      // of the selection
  double bound;         // no solution is cheaper; may be -infinity
  bool optimal = false;
  uint64_t iterations = 0;
};

// The program: x_n = 1 where node n is chosen, y_c = 1 where class c is needed.
//   minimize    sum cost(n) x_n
//   for c:      sum of x_n over n of c = y_c;   y_c = 1 for roots
//   for c, d:   sum of x_n over n of c with child d <= y_d
// The second kind of row is summed per class, not written per node: one node of
// a class is chosen, so that is as true, and a tighter relaxation. In strong
// components of several classes levels t_c forbid cycles (Miller, Tucker,
// Zemlin, Journal of the ACM 7(4), 1960), and c -> d and d -> c exclude each
// other in the rows. Where a cost is negative, a class may be chosen only if a
// user of it is.
//
// With Branching::kClasses only the y_c are integers where no cost is negative
// and c is in no strong component of several classes: once it is decided which
// classes are needed, a cheapest node among those that need no others is right.
// That makes a smaller tree and weaker cuts: some programs are solved in a
// fraction of the time, others in several times as much.
//
// `start` is a solution of `problem` to begin with, or empty. REQUIRES:
// MipAvailable(), costs finite, children of a node unique, some root.
ExactOutcome SolveExactly(const Problem& problem, const Selection& start,
                          const MipLimits& limits,
                          Branching branching = Branching::kNodesAndClasses);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_EXACT_H_
