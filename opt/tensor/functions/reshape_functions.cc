#include "encore/opt/tensor/functions/reshape_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/functions/labels.h"

namespace encore::opt {
namespace {

// Dims [from, from_end) of the operand that are dims [to, to_end) of the
// result. One of both may be empty: extents of 1.
struct Group {
  size_t from, from_end, to, to_end;

  size_t from_count() const { return from_end - from; }
  size_t to_count() const { return to_end - to; }
};

// The end of the smallest group that begins there; nothing where none is known
// for all values of the symbols.
std::optional<Group> GroupAt(std::span<const Dim> from, std::span<const Dim> to,
                             size_t i, size_t j) {
  if (i < from.size() && j < to.size() && from[i] == to[j]) {
    return Group{i, i + 1, j, j + 1};
  }
  if (i < from.size() && from[i] == Dim(1)) return Group{i, i + 1, j, j};
  if (j < to.size() && to[j] == Dim(1)) return Group{i, i, j, j + 1};
  const size_t most = from.size() - i + to.size() - j;
  for (size_t count = 2; count <= most; ++count) {
    Dim left = 1;
    for (size_t a = 1; a < count && i + a <= from.size(); ++a) {
      left = left * from[i + a - 1];
      if (j + count - a > to.size()) continue;
      Dim right = 1;
      for (size_t b = 0; b < count - a; ++b) right = right * to[j + b];
      if (left.valid() && left == right) {
        return Group{i, i + a, j, j + count - a};
      }
    }
  }
  return std::nullopt;
}

// A reshape as groups of dims, in order.
std::optional<std::vector<Group>> GroupsOf(std::span<const Dim> from,
                                           std::span<const Dim> to) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const auto group = GroupAt(from, to, i, j);
    if (!group) return std::nullopt;
    groups.push_back(*group);
    i = group->from_end;
    j = group->to_end;
  }
  return groups;
}

// Whether axes [begin, end) of the permutation are one after the other.
bool StayTogether(const Ints& permutation, size_t begin, size_t end) {
  for (size_t i = begin + 1; i < end; ++i) {
    if (permutation[i] != permutation[i - 1] + 1) return false;
  }
  return true;
}

// reshape(transpose(x) {p}) {r}, of p, r, x, where the reshape splits and
// merges what the transpose leaves together: transpose(reshape(x) {…}) {…}.
bool ReshapeBeforeTranspose(const FunctionCall& call,
                            std::span<Attributes> results) {
  const auto* const p = call.attrs<TransposeAttrs>(0);
  const auto* const r = call.attrs<ReshapeAttrs>(1);
  const Shape& x = call.shape(2);
  if (p == nullptr || r == nullptr ||
      p->permutation.size() != static_cast<size_t>(x.rank()) ||
      !AreAxes(p->permutation, p->permutation.size())) {
    return false;
  }
  std::vector<Dim> from;
  for (const int64_t axis : p->permutation) {
    from.push_back(x[static_cast<int>(axis)]);
  }
  auto groups = GroupsOf(from, r->shape);
  if (!groups) return false;
  for (const Group& group : *groups) {
    if (!StayTogether(p->permutation, group.from, group.from_end)) return false;
  }
  // By their place in x; those of extents of 1 alone behind the others.
  std::ranges::sort(*groups, {}, [&](const Group& group) {
    const int64_t place =
        group.from_count() == 0 ? x.rank() : p->permutation[group.from];
    return std::pair(place, group.to);
  });
  ReshapeAttrs before;
  TransposeAttrs after{.permutation = Ints(r->shape.size())};
  for (const Group& group : *groups) {
    for (size_t to = group.to; to < group.to_end; ++to) {
      after.permutation[to] = static_cast<int64_t>(before.shape.size());
      before.shape.push_back(r->shape[to]);
    }
  }
  results[0] = std::move(before);
  results[1] = std::move(after);
  return true;
}

// reduce(reshape(x) {r}) {q}, of r, q, x, where all dims that are split and
// merged together are reduced, or none: the reduction of x, and the reshape of
// what it leaves.
bool ReduceBeforeReshape(const FunctionCall& call,
                         std::span<Attributes> results) {
  const auto* const r = call.attrs<ReshapeAttrs>(0);
  const auto* const q = call.attrs<ReduceAttrs>(1);
  if (r == nullptr || q == nullptr || q->axes.empty() ||
      !AreAxes(q->axes, r->shape.size())) {
    return false;
  }
  const auto groups = GroupsOf(call.shape(2).dims(), r->shape);
  if (!groups) return false;
  ReduceAttrs before{.combiner = q->combiner, .axes = {}};
  ReshapeAttrs after;
  for (const Group& group : *groups) {
    const auto reduced =
        static_cast<size_t>(std::ranges::count_if(q->axes, [&](int64_t axis) {
          return axis >= static_cast<int64_t>(group.to) &&
                 axis < static_cast<int64_t>(group.to_end);
        }));
    if (reduced != 0 && reduced != group.to_count()) return false;
    if (reduced == 0) {
      after.shape.insert(after.shape.end(), r->shape.begin() + group.to,
                         r->shape.begin() + group.to_end);
      continue;
    }
    for (size_t from = group.from; from < group.from_end; ++from) {
      before.axes.push_back(static_cast<int64_t>(from));
    }
  }
  results[0] = std::move(before);
  results[1] = std::move(after);
  return true;
}

// The first operand of a product is a reshape, of `operand`.
struct ReshapedProduct {
  const DotGeneralAttrs& dot;
  const ReshapeAttrs& reshape;
  const Shape& operand;
  const Shape& other;
};

// Per dim of the reshape that is paired with one of the other operand: the
// group that makes it; nothing where that makes other dims too.
std::optional<std::vector<const Group*>> PairedGroups(
    const ReshapedProduct& product, const std::vector<Group>& groups) {
  std::vector<const Group*> made(product.reshape.shape.size());
  for (const Group& group : groups) {
    for (size_t to = group.to; to < group.to_end; ++to) made[to] = &group;
  }
  for (const AxisPairs* pairs : {&product.dot.batch, &product.dot.contract}) {
    if (!AreAxes(pairs->lhs, made.size()) ||
        !AreAxes(pairs->rhs, static_cast<size_t>(product.other.rank()))) {
      return std::nullopt;
    }
    for (const int64_t axis : pairs->lhs) {
      if (made[axis] == nullptr || made[axis]->to_count() != 1) {
        return std::nullopt;
      }
    }
  }
  return made;
}

// dot_general(reshape(a) {r}, b) {d}: the reshape of b, which splits its dims
// that are paired with merged ones; the product; the reshape to the result,
// which is y.
bool ProductBeforeReshape(const ReshapedProduct& product, const Shape& y,
                          std::span<Attributes> results) {
  const auto groups = GroupsOf(product.operand.dims(), product.reshape.shape);
  if (!groups) return false;
  const auto made = PairedGroups(product, *groups);
  if (!made) return false;
  std::vector<const Group*> split(product.other.rank());
  for (const AxisPairs* pairs : {&product.dot.batch, &product.dot.contract}) {
    for (size_t i = 0; i < pairs->lhs.size(); ++i) {
      split[pairs->rhs[i]] = (*made)[pairs->lhs[i]];
    }
  }
  ReshapeAttrs other;
  Ints begin;  // of each dim of the other operand
  for (int i = 0; i < product.other.rank(); ++i) {
    begin.push_back(std::ssize(other.shape));
    if (split[i] == nullptr) {
      other.shape.push_back(product.other[i]);
      continue;
    }
    for (size_t from = split[i]->from; from < split[i]->from_end; ++from) {
      other.shape.push_back(product.operand[static_cast<int>(from)]);
    }
  }
  DotGeneralAttrs inner;
  const auto pair_up = [&](const AxisPairs& pairs, AxisPairs* to) {
    for (size_t i = 0; i < pairs.lhs.size(); ++i) {
      const Group& group = *(*made)[pairs.lhs[i]];
      for (size_t k = 0; k < group.from_count(); ++k) {
        to->lhs.push_back(static_cast<int64_t>(group.from + k));
        to->rhs.push_back(begin[pairs.rhs[i]] + static_cast<int64_t>(k));
      }
    }
  };
  pair_up(product.dot.batch, &inner.batch);
  pair_up(product.dot.contract, &inner.contract);
  results[0] = std::move(other);
  results[1] = std::move(inner);
  results[2] = ReshapeAttrs{.shape = y.dims()};
  return true;
}

// Of d, r, a, b and the product, where a is what is reshaped.
bool ReshapeOfLhs(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const d = call.attrs<DotGeneralAttrs>(0);
  const auto* const r = call.attrs<ReshapeAttrs>(1);
  return d != nullptr && r != nullptr &&
         ProductBeforeReshape({*d, *r, call.shape(2), call.shape(3)},
                              call.shape(4), results);
}

constexpr AttributeFunction kFunctions[] = {
    {"reshape_before_transpose", "aat", 2,
     "Of a transpose and the reshape behind it: the reshape of the tensor, and "
     "the transpose behind that.",
     ReshapeBeforeTranspose},
    {"reduce_before_reshape", "aat", 2,
     "Of a reshape and the reduction of all that some dims are split into or "
     "merged to: the reduction of the tensor, and the reshape of the rest.",
     ReduceBeforeReshape},
    {"reshape_of_lhs", "aattt", 3,
     "Of a product with a reshaped: the reshape of b, the product, and the "
     "reshape of that to the last tensor.",
     ReshapeOfLhs},
};

}  // namespace

std::span<const AttributeFunction> ReshapeFunctions() { return kFunctions; }

}  // namespace encore::opt
