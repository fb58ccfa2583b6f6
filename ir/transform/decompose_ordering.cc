#include <numeric>

#include "encore/ir/transform/decompositions.h"

namespace encore::ops {
namespace {

// Longer rows are sorted by a network of log^2(n) steps; shorter ones by
// counting, for each element, those before it.
constexpr int64_t kMaxCounted = 512;

struct Sorter {
  GraphBuilder& g;
  bool descending;

  // Whether a comes strictly before b by value; NaN counts as the largest.
  Value Less(Value a, Value b) const {
    const Value less = g.Compare(a, b, Comparison::kLt);
    if (!IsFloat(a.dtype())) return less;
    return g.Or(less, g.And(g.IsNan(b), g.Not(g.IsNan(a))));
  }
  Value Before(Value a, Value b) const {
    return descending ? Less(b, a) : Less(a, b);
  }
  // As above, where i and j are where a and b stood.
  Value StablyBefore(Value a, Value i, Value b, Value j) const {
    return g.Or(Before(a, b),
                g.And(g.Not(Before(b, a)), g.Compare(i, j, Comparison::kLt)));
  }
};

// rows [B, n]: the place of each element is the number of those before it.
Value SortByCounting(const Sorter& sorter, Value rows) {
  GraphBuilder& g = sorter.g;
  const Dim b = rows.shape()[0], n = rows.shape()[1];
  const Value at = g.Iota(DType::kI64, {b, n}, 1);
  const auto column = [&](Value x) { return g.Reshape(x, {b, n, 1}); };
  const auto row = [&](Value x) { return g.Reshape(x, {b, 1, n}); };
  const Value before =
      sorter.StablyBefore(row(rows), row(at), column(rows), column(at));
  const Value place = g.Sum(g.Cast(before, DType::kI64), {2});
  ScatterAttrs scatter;
  scatter.inserted_window_dims = {1};
  scatter.operand_batching_dims = {0};
  scatter.scatter_indices_batching_dims = {0};
  scatter.scatter_dims_to_operand_dims = {1};
  scatter.index_vector_dim = 2;
  const Value zeros = g.Full({b, n}, g.Scalar(DType::kI64, int64_t{0}));
  return g.Scatter(zeros, column(place), at, std::move(scatter));
}

// Batcher's bitonic network over the next power of two: each step compares
// elements that are `distance` apart, ascending or not by blocks of `block`.
// Source: K. Batcher, Sorting networks and their applications, 1968.
Value SortByNetwork(const Sorter& sorter, Value rows) {
  GraphBuilder& g = sorter.g;
  const Dim b = rows.shape()[0];
  const int64_t n = rows.shape()[1].constant();
  int64_t size = 1;
  while (size < n) size *= 2;
  std::vector<int64_t> blocks, distances;
  for (int64_t block = 2; block <= size; block *= 2) {
    for (int64_t distance = block / 2; distance > 0; distance /= 2) {
      blocks.push_back(block);
      distances.push_back(distance);
    }
  }
  const Value zero = g.Constant(Literal(rows.dtype(), {}));
  const Value carried[] = {g.Pad(rows, zero, {0, 0}, {0, size - n}),
                           g.Iota(DType::kI64, {b, size}, 1)};
  const Value operands[] = {carried[0], carried[1],
                            g.Constant(Literal::Vector<int64_t>(blocks)),
                            g.Constant(Literal::Vector<int64_t>(distances))};
  const auto step = [&](GraphBuilder& body, std::span<const Value> in) {
    const Sorter inner{body, sorter.descending};
    const Value at = body.Iota(DType::kI64, {size}, 0);
    const Value partner = body.Xor(at, in[3]);
    const Value other = body.Take(in[0], partner, 1);
    const Value other_from = body.Take(in[1], partner, 1);
    // What pads the rows comes last.
    const Value pads = body.Compare(in[1], n, Comparison::kGe);
    const Value other_pads = body.Compare(other_from, n, Comparison::kGe);
    const Value either = body.Or(pads, other_pads);
    const Value before =
        body.Select(either, body.Compare(in[1], other_from, Comparison::kLt),
                    inner.StablyBefore(in[0], in[1], other, other_from));
    const auto is_set = [&](Value bit) {
      return body.Compare(body.And(at, bit), 0, Comparison::kNe);
    };
    // The lower one of a pair keeps the first element in ascending blocks.
    const Value keeps_last = body.Xor(is_set(in[2]), is_set(in[3]));
    const Value kept = body.Xor(before, keeps_last);
    return std::vector<Value>{body.Select(kept, in[0], other),
                              body.Select(kept, in[1], other_from)};
  };
  ScanAttrs scan;
  scan.carried = 2;
  const std::vector<Value> sorted = g.Scan(operands, step, scan);
  return g.SliceAxis(sorted.back(), 1, 0, n);
}

}  // namespace

Value DecomposeArgSort(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const ArgSortAttrs& attrs = context.attrs<ArgSortAttrs>();
  const Value x = context.operands[0];
  const int rank = x.rank();
  Ints permutation(rank), inverse(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[attrs.axis], permutation.back());
  for (int i = 0; i < rank; ++i) inverse[permutation[i]] = i;
  const Value moved = g.Transpose(x, permutation);
  const Dim n = moved.shape()[rank - 1];
  Dim b = 1;
  for (int i = 0; i + 1 < rank; ++i) b = b * moved.shape()[i];
  const Value rows = g.Reshape(moved, {b, n});
  const Sorter sorter{g, attrs.descending};
  const Value order = n.is_constant() && n.constant() > kMaxCounted
                          ? SortByNetwork(sorter, rows)
                          : SortByCounting(sorter, rows);
  return g.Transpose(g.Reshape(order, moved.shape()), inverse);
}

}  // namespace encore::ops
