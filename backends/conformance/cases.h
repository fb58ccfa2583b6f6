// The cases of the conformance suite: graphs and arguments on which an op is
// tested in one dtype, made from the op table by ir/testing/random_graph.h.
#ifndef ENCORE_BACKENDS_CONFORMANCE_CASES_H_
#define ENCORE_BACKENDS_CONFORMANCE_CASES_H_

#include <functional>
#include <span>
#include <vector>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/mutants.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {

struct Case {
  Graph graph;
  std::vector<Literal> arguments;
  std::vector<Bounds> bounds;
};

struct Cases {
  std::vector<Case> cases;
  // The mutants that must fail in one of the cases.
  std::vector<Mutant> mutants;
};

// Takes those mutants out of `mutants` that fail in the case where the results
// are `right`.
void RemoveFailing(const Case& c, std::span<const Literal> right,
                   std::vector<Mutant>* mutants);

// kCasesPerOp cases of `op` in `dtype`, the row's T, among the graphs whose
// every value has a dtype that `computes` accepts; and more, until each mutant
// of the expected results fails in one. Graphs are drawn kMostSeeds times, with
// arguments as RandomArguments makes them or, every fourth time, with
// infinities, NaN and zeros among the floats. Every mutant must fail, but for
// kZero where 0 is right whatever the element: is_inf in formats that have no
// infinities. Errors of EvaluateBounds.
inline constexpr int kCasesPerOp = 3;
inline constexpr uint64_t kMostSeeds = 64;
StatusOr<Cases> CasesOf(Op op, DType dtype,
                        const std::function<bool(DType)>& computes);

// Whether `holds` is true of the type of every value, of bodies too.
bool EveryValue(const Graph& graph,
                const std::function<bool(const TensorType&)>& holds);

// Whether there must be cases of the op in a dtype of its row: not of custom
// operators, which no backend has kernels for, nor of parameters of strings:
// weights are bytes, and Compile refuses others.
bool NeedsCases(Op op, DType dtype);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_CASES_H_
