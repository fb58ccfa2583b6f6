#include "encore/backends/conformance/position_graph.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {
namespace {

constexpr DType kPositions[] = {DType::kI64, DType::kI64, DType::kI64,
                                DType::kI32, DType::kI16, DType::kI8,
                                DType::kU64, DType::kU32, DType::kU8};
constexpr int64_t kExtents[] = {1, 2, 3, 5, 8, 13, 16, 17, 31, 40, 67};

constexpr int64_t kFar = int64_t{1} << 47;

using Extents = std::vector<int64_t>;

class Drawer {
 public:
  Drawer(uint64_t seed, const PositionGraphOptions& options)
      : random_(seed),
        options_(options),
        g_("positions", {.simplify = false}) {}

  Graph Draw() {
    Value value = Data(Grid(), 4);
    if (options_.reduced && Chance(35)) {
      value = Chance(60) ? Reduced(value) : Windows(value);
    }
    StatusOr<Graph> graph = g_.Build({{"y", value}});
    ENCORE_CHECK_OK(graph.status());
    return *std::move(graph);
  }

 private:
  // In [low, high].
  int64_t Between(int64_t low, int64_t high) {
    const auto count = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int64_t>(random_() % count);
  }
  bool Chance(int percent) { return Between(0, 99) < percent; }

  Extents Grid() {
    for (;;) {
      Extents dims(Between(1, 3));
      int64_t elements = 1;
      for (int64_t& dim : dims) {
        dim = kExtents[Between(0, std::ssize(kExtents) - 1)];
        elements *= dim;
      }
      if (elements <= options_.most_elements) return dims;
    }
  }

  static Shape ShapeOf(const Extents& dims) {
    return Shape(std::vector<Dim>(dims.begin(), dims.end()));
  }

  // --- Tensors of f32.

  Value Data(const Extents& dims, int depth) {
    const int64_t kind = depth == 0 ? 0 : Between(0, 9);
    switch (kind) {
      case 0:
        return g_.Input(StrCat("x", inputs_++), {DType::kF32, ShapeOf(dims)});
      case 1:
      case 2:
        return g_.Neg(Data(dims, depth - 1));
      case 3: {
        const Value a = Data(dims, depth - 1), b = Data(dims, depth - 1);
        return g_.Max(a, b);
      }
      case 4:
      case 5:
      case 6: {
        const Value condition = Condition(dims, 2);
        const Value a = Data(dims, depth - 1), b = Data(dims, depth - 1);
        return g_.Select(condition, a, b);
      }
      default:
        return Moved(DType::kF32, dims, depth - 1);
    }
  }

  Value Inner(DType dtype, const Extents& dims, int depth) {
    return dtype == DType::kF32 ? Data(dims, depth)
                                : Position(dtype, dims, depth);
  }

  // Elements of other tensors, by movement.
  Value Moved(DType dtype, const Extents& dims, int depth) {
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t axis = Between(0, rank - 1);
    switch (Between(0, 5)) {
      case 0:
        return g_.Reverse(Inner(dtype, dims, depth), {axis});
      case 1:
        return Transposed(dtype, dims, depth);
      case 2:
        return Sliced(dtype, dims, depth);
      case 3:
        return Joined(dtype, dims, axis, depth);
      default:
        return Padded(dtype, dims, depth);
    }
  }

  Value Transposed(DType dtype, const Extents& dims, int depth) {
    const Extents turned(dims.rbegin(), dims.rend());
    Ints permutation;
    for (size_t d = dims.size(); d-- > 0;) {
      permutation.push_back(static_cast<int64_t>(d));
    }
    return g_.Transpose(Inner(dtype, turned, depth), permutation);
  }

  Value Sliced(DType dtype, const Extents& dims, int depth) {
    Extents from;
    Dims starts, limits;
    Ints strides;
    for (const int64_t dim : dims) {
      strides.push_back(Between(1, 3));
      const int64_t start = Between(0, 5);
      const int64_t limit = start + (dim - 1) * strides.back() + 1;
      starts.emplace_back(start);
      limits.emplace_back(limit);
      from.push_back(limit + Between(0, 3));
    }
    return g_.Slice(Inner(dtype, from, depth), starts, limits, strides);
  }

  Value Joined(DType dtype, const Extents& dims, int64_t axis, int depth) {
    std::vector<Value> parts;
    for (int64_t left = dims[axis]; left > 0;) {
      const int64_t part = parts.size() == 3 ? left : Between(1, left);
      Extents own = dims;
      own[axis] = part;
      parts.push_back(Inner(dtype, own, depth));
      left -= part;
    }
    return g_.Concat(parts, axis);
  }

  // Cut where padding is negative; now and then far from what is padded.
  Value Padded(DType dtype, const Extents& dims, int depth) {
    Extents from;
    Dims low, high;
    Ints interior;
    for (const int64_t dim : dims) {
      from.push_back(Between(1, dim + 4));
      interior.push_back(Chance(70) ? 0 : Between(1, 2));
      const int64_t spread = (from.back() - 1) * (interior.back() + 1) + 1;
      int64_t before = Between(-spread - 1, dim + 1);
      if (Chance(60)) before = Between(-2, 2);
      if (Chance(2)) before = Chance(50) ? kFar : -kFar;
      low.emplace_back(before);
      high.emplace_back(dim - before - spread);
    }
    const Value fill =
        dtype == DType::kF32 ? g_.Scalar(dtype, 0.25) : Edge(dtype);
    return g_.Pad(Inner(dtype, from, depth), fill, low, high, interior);
  }

  // --- Conditions, and the positions that they compare.

  Value Condition(const Extents& dims, int depth) {
    const int64_t kind = depth == 0 ? 9 : Between(0, 9);
    if (kind == 0) return g_.Not(Condition(dims, depth - 1));
    if (kind < 4) {
      const Value a = Condition(dims, depth - 1);
      const Value b = Condition(dims, depth - 1);
      return kind < 3 ? g_.And(a, b) : g_.Or(a, b);
    }
    const DType dtype = kPositions[Between(0, std::ssize(kPositions) - 1)];
    const Value a = Position(dtype, dims, 3);
    const Value b =
        Chance(75) ? Full(Edge(dtype), dims) : Position(dtype, dims, 2);
    constexpr Comparison kDirections[] = {
        Comparison::kGe, Comparison::kLt, Comparison::kGe, Comparison::kLt,
        Comparison::kLe, Comparison::kGt, Comparison::kEq, Comparison::kNe};
    return g_.Compare(a, b, kDirections[Between(0, 7)]);
  }

  Value Position(DType dtype, const Extents& dims, int depth) {
    const int64_t kind = depth == 0 ? 9 : Between(0, 9);
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
        return Computed(dtype, dims, depth - 1);
      case 7: {
        const DType from = kPositions[Between(0, std::ssize(kPositions) - 1)];
        return g_.Cast(Position(from, dims, depth - 1), dtype);
      }
      case 8:
        return Moved(dtype, dims, depth - 1);
      default:
        return g_.Iota(dtype, ShapeOf(dims), Between(0, std::ssize(dims) - 1));
    }
  }

  Value Computed(DType dtype, const Extents& dims, int depth) {
    Value a = Position(dtype, dims, depth);
    Value b =
        Chance(70) ? Full(Edge(dtype), dims) : Position(dtype, dims, depth);
    if (Chance(30)) std::swap(a, b);
    switch (Between(0, 5)) {
      case 0:
      case 1:
        return g_.Mul(a, b);
      case 2:
        return g_.Sub(a, b);
      default:
        return g_.Add(a, b);
    }
  }

  // A number near 0, near the ends of the dtype or near a part of its range.
  Value Edge(DType dtype) {
    const int bits = BitWidth(dtype);
    const uint64_t half = uint64_t{1} << (bits - 1);
    const uint64_t middles[] = {0,         0,         half,    half,
                                half >> 1, half >> 2, half / 7};
    uint64_t number = middles[Between(0, std::ssize(middles) - 1)];
    if (Chance(30)) number = 0 - number;
    number += static_cast<uint64_t>(Between(-20, 20));
    Literal literal(dtype, {});
    literal.SetInt(0, static_cast<int64_t>(number));
    return g_.Constant(std::move(literal));
  }

  Value Full(Value scalar, const Extents& dims) {
    return g_.Broadcast(scalar, ShapeOf(dims), {});
  }

  // --- Rows.

  Value Reduced(Value x) {
    const Shape shape = x.shape();
    const int64_t axis = Between(0, shape.rank() - 1);
    const Combiner combiner = Chance(50) ? Combiner::kSum : Combiner::kMax;
    const Value reduced = g_.Reduce(x, combiner, {axis});
    if (Chance(50)) return reduced;
    Ints axes;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (d != axis) axes.push_back(d);
    }
    return g_.Sub(x, g_.Broadcast(reduced, shape, axes));
  }

  // Windows, with gaps, that reach beyond the ends.
  Value Windows(Value x) {
    ReduceWindowAttrs attrs;
    constexpr Combiner kCombiners[] = {Combiner::kMax, Combiner::kMin,
                                       Combiner::kMax, Combiner::kSum};
    attrs.combiner = kCombiners[Between(0, 3)];
    for (const Dim& dim : x.shape().dims()) {
      const int64_t extent = dim.constant();
      const int64_t dilation = Between(1, 3);
      const int64_t window =
          Between(1, std::min<int64_t>((extent - 1) / dilation + 1, 7));
      attrs.window.push_back(window);
      attrs.dilations.push_back(dilation);
      attrs.strides.push_back(Between(1, 3));
      attrs.padding_low.push_back(Between(0, window - 1));
      attrs.padding_high.push_back(Between(0, window - 1));
    }
    return g_.ReduceWindow(x, attrs);
  }

  std::mt19937_64 random_;
  const PositionGraphOptions options_;
  GraphBuilder g_;
  int inputs_ = 0;
};

}  // namespace

Graph PositionGraph(uint64_t seed, const PositionGraphOptions& options) {
  return Drawer(seed, options).Draw();
}

}  // namespace encore::backends
