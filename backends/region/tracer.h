// Tracer: from nodes to the expressions and stages of a region. Private to
// build.cc.
//
// ValueAt(value, indices) is the expression of one element of a value. Nodes of
// the group become operations on expressions, or other indices into their
// operands (movement), or stages (reductions); other values become loads.
#ifndef ENCORE_BACKENDS_REGION_TRACER_H_
#define ENCORE_BACKENDS_REGION_TRACER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/backends/region/affine.h"
#include "encore/backends/region/region.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

// Most nodes of a region; bounds how deep tracing nests.
inline constexpr size_t kMaxRegionNodes = 128;
inline constexpr size_t kMaxRegionExprs = 4096;

using Indices = std::vector<Index>;

// (2 * node, dim of the result) or (2 * node + 1, dim of the operand that the
// node reduces) -> extents of the variables that the dim is cut into.
using DimKey = std::pair<uint32_t, int>;
using Splits = std::map<DimKey, std::vector<int64_t>>;

class Tracer {
 public:
  Tracer(const Graph& graph, std::span<const NodeId> nodes, Splits splits);

  // Nothing where the value does not fit the region; better_splits() may then
  // say with which cuts it does.
  std::optional<ExprId> ValueAt(ValueId value, const Indices& indices);
  // As above where indices may lie outside: `fill` there.
  std::optional<ExprId> ValueAtOr(ValueId value, const Indices& indices,
                                  ExprId fill);

  // Variables for the dims of `value`, and the indices that they make.
  Indices RootIndices(ValueId value);

  // A variable for part `part` of a dim.
  uint32_t NewVariable(const Dim& extent, DimKey key, int part);

  // Adds the stages of a scatter node.
  Indices LoopOverUpdates(NodeId node, Stage* write);
  bool TraceScatter(NodeId node);

  // Where each value was computed first.
  const std::map<ValueId, Indices>& traced() const { return traced_; }
  // The variables that a kept result depends on, per stage that has one.
  const std::vector<std::vector<uint32_t>>& rows() const { return rows_; }
  // Whether a contraction reads what another one computes: rows then differ.
  bool chained() const { return chained_; }
  const std::optional<Splits>& better_splits() const { return better_splits_; }
  Region& region() { return region_; }
  const Region& region() const { return region_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  bool InGroup(NodeId node) const;

 private:
  using Result = std::optional<ExprId>;

  // Adds a stage that makes `result`, the only output, a copy of `operand`.
  bool TraceCopy(ValueId result, ValueId operand);
  // Whether it is a constant that becomes part of the expression.
  bool IsInlined(ValueId value) const;

  Result Trace(ValueId value, const Indices& indices);
  Result Elementwise(NodeId node, const Indices& indices);
  // The product that a power with a small constant exponent is, else nothing.
  Result SmallPower(const Expr& power);
  Result Movement(NodeId node, const Indices& indices);
  Result Moved(NodeId node, const Indices& indices);
  Result Broadcast(NodeId node, const Indices& indices);
  Result Reshape(NodeId node, const Indices& indices);
  Result Slice(NodeId node, const Indices& indices);
  Result DynamicSlice(NodeId node, const Indices& indices);
  Result DynamicUpdateSlice(NodeId node, const Indices& indices);
  Result Pad(NodeId node, const Indices& indices);
  Result Concat(NodeId node, const Indices& indices);
  Result Gather(NodeId node, const Indices& indices);
  Result Source(NodeId node, const Indices& indices);
  Result Reduction(NodeId node, const Indices& indices);
  Result Reduce(NodeId node, const Indices& indices);
  Result ReduceWindow(NodeId node, const Indices& indices);
  Result Cumulative(NodeId node, const Indices& indices);
  Result Dot(NodeId node, const Indices& indices);
  Result Convolution(NodeId node, const Indices& indices);

  Result Load(ValueId value, const Indices& indices, bool checked, ExprId fill);
  Result LoadStage(uint32_t stage, Indices indices);
  // The row's kept result of a kReduce stage.
  Result Kept(uint32_t stage) { return LoadStage(stage, {}); }
  // The indices into `from` of the element at `indices` in `to`.
  std::optional<Indices> ReshapeIndices(std::span<const Dim> from,
                                        std::span<const Dim> to,
                                        const Indices& indices);
  // The parts of `index` under `extents`, outermost first.
  std::optional<Indices> Delinearize(const Index& index,
                                     std::span<const Dim> extents);
  // The element of a start vector at `at`, clamped to [0, limit].
  Result Start(ValueId vector, const Indices& at, const Dim& limit);
  // What a gather or scatter asks of its indices: `batch` are those into its
  // tensor of index vectors but for dim `vector_dim`.
  struct StartCheck {
    NodeId node;
    const Indices& batch;
    int64_t vector_dim;
  };
  // The element of its start vector at `at`, for windows of `size` along
  // `axis`; an error of the run where it is out of range.
  Result CheckedStart(const StartCheck& of, const Indices& at,
                      uint32_t component, int64_t axis, const Dim& size);
  // Row-major position of `indices` in `dims`.
  Index Linear(const Indices& indices, std::span<const Dim> dims);
  // An index plus a start.
  Index AddIndirect(const Index& index, ExprId start);

  // Variables to reduce dim `axis` of `node` over, and the index they make;
  // variables in use for `row` are not taken.
  Index ReducedIndex(NodeId node, int axis, const Dim& extent, bool reuse,
                     const std::vector<uint32_t>& row,
                     std::vector<uint32_t>* reduced);
  // The extents of the variables of that dim.
  std::vector<Dim> PartsOf(DimKey key, const Dim& extent) const;
  // The index along dim `axis` of `operand`, where it was computed before at
  // the other `indices`, if `row` has none of its variables: those to reduce
  // over.
  std::optional<Index> IndexBefore(ValueId operand, int axis, const Ints& axes,
                                   const Indices& indices,
                                   const std::vector<uint32_t>& row) const;
  // A factor of a contraction, kept in a buffer where it is made of what stages
  // compute.
  Result Factor(const Result& value, const Indices& indices);
  uint32_t InputOf(ValueId value);
  ExprId Product(ExprId lhs, ExprId rhs);
  ExprId IdentityOf(Combiner combiner, DType dtype);
  // The number of the new stage, whose result depends on the variables `row`.
  uint32_t AddStage(Stage stage, std::vector<uint32_t> row);
  // The variables in `indices`; nothing where these depend on data.
  std::optional<std::vector<uint32_t>> RowOf(const Indices& indices) const;

  ExprId Constant(DType dtype, uint64_t bits);
  ExprId Int(int64_t value);
  ExprId OfDim(const Dim& dim);
  ExprId OfIndex(const Index& index);
  ExprId OfOp(Op op, DType dtype, std::initializer_list<ExprId> operands,
              Comparison comparison = Comparison::kEq);
  ExprId Cast(DType dtype, ExprId value, bool saturate = false);
  // Whether every index is in [0, dim); invalid where that is certain.
  ExprId Within(const Indices& indices, std::span<const Dim> dims);
  ExprId Intern(Expr expr);

  const Graph& graph_;
  Splits splits_;
  std::vector<NodeId> nodes_;
  Region region_;
  std::vector<ValueId> inputs_;
  std::map<ValueId, uint32_t> input_numbers_;
  std::vector<std::pair<DimKey, int>> variable_keys_;  // dim and part
  std::vector<std::vector<uint32_t>> rows_;
  std::map<ValueId, Indices> traced_;
  absl::flat_hash_map<std::string, ExprId> exprs_, memo_;
  std::optional<Splits> better_splits_;
  bool chained_ = false;
  // Positive: loads may be outside, their value is not used there.
  int guarded_ = 0;
  // Positive: not every element of a value may be computed.
  int partial_ = 0;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_TRACER_H_
