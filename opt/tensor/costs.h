// Costs: what optimization knows of the machine: seconds that nodes take.
//
// opt sees no backend. Who has kernels implements this (backends/lowering);
// RooflineCosts is the plain one, of rates alone.
#ifndef ENCORE_OPT_TENSOR_COSTS_H_
#define ENCORE_OPT_TENSOR_COSTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {

// A node of one result, which need not be in any graph.
struct CostedNode {
  Op op;
  const Attributes& attributes;
  std::span<const TensorType* const> operands;
  const TensorType& result;
  std::span<const Symbol> symbols;
  // Follows from parameters and constants: computed once per load.
  bool weight_only = false;
};

// Of a run of a whole graph.
struct GraphCost {
  double seconds = 0;
  // The most bytes that values between its kernels take at once; 0 where that
  // is not known.
  double live_bytes = 0;
};

// Implementations are deterministic and thread-safe.
class Costs {
 public:
  virtual ~Costs() = default;

  // Seconds that the node adds to a run, computed in one kernel with what it is
  // likely to be fused with; nothing where no kernel computes it. At least 0.
  virtual std::optional<double> NodeSeconds(const CostedNode& node) const = 0;

  // What NodeSeconds depends on beside the node: equal only for costs that give
  // equal seconds. Nothing, as by default, where that cannot be said; nothing
  // that was chosen by them is then kept.
  virtual std::optional<std::string> NodeIdentity() const;

  // Nothing where a part has no kernel. By default the seconds of its live
  // nodes, bodies counted once.
  virtual std::optional<GraphCost> CostOf(const Graph& graph) const;
  std::optional<double> GraphSeconds(const Graph& graph) const;

  // The same with kernels cut as they will be, where CostOf cuts them by a
  // faster method, which may not see that one graph can be cut better than
  // another. By default what CostOf says.
  virtual std::optional<GraphCost> CostAsCompiled(const Graph& graph) const;

  // Where a node of that origin is computed: what CostOf says of two graphs
  // that differ in origins alone is the same where their nodes' places are.
  virtual uint64_t PlaceOf(std::string_view origin) const;
};

// What a machine does at most.
struct Roofline {
  double bytes_per_second = 1e10;
  double contraction_flops_per_second = 5e10;
  double flops_per_second = 2e10;  // of elementwise operations
  double launch_seconds = 2e-7;
  // How often a graph is run once it is loaded.
  double runs_per_load = 100;
};

// A node takes what its arithmetic or its memory takes, whichever is more.
//   products, convolutions, windows, sorting: a kernel each, which reads its
//     operands and writes its result;
//   reductions: are fused with what makes their operand, so that they write
//     their result only;
//   elementwise nodes, transposes, slices and the like: are fused with what
//     makes their operands or uses their result, so that of two such nodes one
//     is in memory: half of their result's bytes;
//   concatenations, gathers and scatters: end a kernel: both sides in full;
//   reshapes, broadcasts, iotas: nothing.
// Symbols count as 32, or the bound that is nearest to it.
class RooflineCosts : public Costs {
 public:
  explicit RooflineCosts(Roofline machine = {}) : machine_(machine) {}
  std::optional<double> NodeSeconds(const CostedNode& node) const override;
  std::optional<std::string> NodeIdentity() const override;

 private:
  Roofline machine_;
};

// Bytes of a tensor, symbols counted as above.
double TypicalBytes(const TensorType& type, std::span<const Symbol> symbols);

// By value: follows from parameters and constants, has constant sizes, cannot
// fail.
std::vector<bool> WeightOnlyValues(const Graph& graph);

// Bytes of what a run reads of weights: parameters, and values that follow from
// them, each once; of a broadcast what it repeats. Numbers do not count, nor
// arguments that `paid` says by number.
double WeightBytes(const Graph& graph, const std::vector<bool>& paid = {});

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_COSTS_H_
