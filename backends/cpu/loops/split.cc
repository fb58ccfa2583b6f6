#include "encore/backends/cpu/loops/split.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "encore/backends/cpu/loops/prune.h"
#include "encore/backends/region/affine.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {
namespace {

using Ends = std::pair<int64_t, int64_t>;  // both inclusive
using Interval = std::optional<Ends>;

std::optional<int64_t> ConstantOf(const Expr& expr) {
  if (expr.dtype != DType::kI64) return std::nullopt;
  if (expr.kind == Expr::Kind::kConstant) {
    return static_cast<int64_t>(expr.bits);
  }
  if (expr.kind == Expr::Kind::kDim && expr.dim.is_constant()) {
    return expr.dim.constant();
  }
  return std::nullopt;
}

// What a position's numerator has to stay below: `dim` times `divisor`.
std::optional<int64_t> EndOf(const Dim& dim, int64_t divisor) {
  if (!dim.is_constant()) return std::nullopt;
  return CheckedMul(dim.constant(), divisor);
}

// By expression: the affine form of an i64 of variables and constants, of which
// the i64 is the remainder where it leaves int64.
std::vector<std::optional<Index>> AffineForms(const Region& region) {
  std::vector<std::optional<Index>> forms(region.exprs.size());
  for (size_t e = 0; e < forms.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (const auto constant = ConstantOf(expr)) {
      forms[e] = Plus({}, Dim(*constant));
    } else if (expr.kind == Expr::Kind::kVariable) {
      forms[e] = VariableIndex(expr.number);
    } else if (expr.kind == Expr::Kind::kOp && expr.dtype == DType::kI64 &&
               expr.operands[1].valid()) {
      const auto& a = forms[expr.operands[0].value()];
      const auto& b = forms[expr.operands[1].value()];
      if (!a || !b) continue;
      if (expr.op == Op::kAdd) forms[e] = Sum(*a, *b);
      if (expr.op == Op::kSub) forms[e] = Sum(*a, Multiple(*b, Dim(-1)));
      if (expr.op == Op::kMul && b->terms.empty()) {
        forms[e] = Multiple(*a, b->offset);
      } else if (expr.op == Op::kMul && a->terms.empty()) {
        forms[e] = Multiple(*b, a->offset);
      }
    }
  }
  return forms;
}

// Where along one variable something is decided.
class Cuts {
 public:
  Cuts(const Region& region, uint32_t variable)
      : region_(region),
        variable_(variable),
        extent_(region.extents[variable].constant()),
        points_({0, extent_}) {}

  std::vector<int64_t> Find() {
    for (const Access& access : region_.accesses) {
      if (!access.checked) continue;
      const std::vector<Dim>* dims = DimsOf(access);
      for (size_t d = 0; dims != nullptr && d < dims->size(); ++d) {
        Add(access.indices[d], 0);
        if (const auto end = EndOf((*dims)[d], access.indices[d].divisor)) {
          Add(access.indices[d], *end);
        }
      }
    }
    const std::vector<std::optional<Index>> forms = AffineForms(region_);
    for (const Expr& expr : region_.exprs) {
      if (expr.kind != Expr::Kind::kOp || expr.op != Op::kCompare) continue;
      const auto& index = forms[expr.operands[0].value()];
      const auto limit = ConstantOf(region_.expr(expr.operands[1]));
      if (index && limit) Add(*index, *limit);
    }
    return {points_.begin(), points_.end()};
  }

 private:
  const std::vector<Dim>* DimsOf(const Access& access) const {
    return access.source == Access::Source::kInput
               ? &region_.inputs[access.number].dims
               : nullptr;
  }

  // Where the numerator of `index`, whatever its other variables are, comes to
  // lie on one side of `limit` or both.
  void Add(Index index, int64_t limit) {
    if (index.indirect.valid()) return;
    index.divisor = 1;
    const auto term =
        std::ranges::find(index.terms, variable_, &Index::Term::variable);
    if (term == index.terms.end() || !term->stride.is_constant()) return;
    const int64_t stride = term->stride.constant();
    index.terms.erase(term);
    const auto others = Range(index, region_.extents);
    if (!others) return;
    for (const int64_t other : {others->first, others->second}) {
      const auto point = FirstBeyond(stride, other, limit);
      if (point && *point > 0 && *point < extent_) points_.insert(*point);
    }
  }

  // The first point p from which on stride * p + other is not below `limit`,
  // or, falling, is; nothing where arithmetic on the way leaves int64.
  static std::optional<int64_t> FirstBeyond(int64_t stride, int64_t other,
                                            int64_t limit) {
    if (stride > 0) {
      const auto way = CheckedSub(limit, other);
      if (!way) return std::nullopt;
      return CeilDiv<int64_t>(*way, stride);
    }
    const auto way = CheckedSub(other, limit), fall = CheckedSub(0, stride);
    const auto past = way ? CheckedAdd(*way, 1) : std::nullopt;
    if (!past || !fall) return std::nullopt;
    return CeilDiv<int64_t>(*past, *fall);
  }

  const Region& region_;
  const uint32_t variable_;
  const int64_t extent_;
  std::set<int64_t> points_;
};

Interval Between(std::optional<int64_t> low, std::optional<int64_t> high) {
  if (!low || !high) return std::nullopt;
  return std::pair(*low, *high);
}

// Of products of what lies between the ends.
Interval Products(const Ends& a, const Ends& b) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const int64_t x : {a.first, a.second}) {
    for (const int64_t y : {b.first, b.second}) {
      const auto product = CheckedMul(x, y);
      if (!product) return std::nullopt;
      low = std::min(low, *product);
      high = std::max(high, *product);
    }
  }
  return std::pair(low, high);
}

// The part of a region whose variable is in [begin, end).
class Part {
 public:
  Part(const Region& region, uint32_t variable, int64_t begin, int64_t end)
      : original_(region), variable_(variable), begin_(begin) {
    region_ = region;
    region_.extents[variable] = Dim(end - begin);
    region_.exprs.clear();
    for (Access& access : region_.accesses) Move(&access.indices);
    for (IndexCheck& check : region_.checks) Move(&check.position);
  }

  // Nothing where a position's offset leaves int64.
  std::optional<Region> Make() {
    for (const Expr& expr : original_.exprs) map_.push_back(Map(expr));
    for (Access& access : region_.accesses) {
      Rename(&access.fill);
      for (Index& index : access.indices) Rename(&index.indirect);
    }
    for (IndexCheck& check : region_.checks) Rename(&check.position.indirect);
    for (Stage& stage : region_.stages) {
      Rename(&stage.value);
      for (Store& store : stage.stores) {
        Move(&store.indices);
        Rename(&store.value);
        for (Index& index : store.indices) Rename(&index.indirect);
      }
    }
    if (offset_overflowed_) return std::nullopt;
    Prune(&region_);
    return std::move(region_);
  }

 private:
  void Move(std::vector<Index>* indices) {
    for (Index& index : *indices) Move(&index);
  }
  void Move(Index* index) {
    for (const Index::Term& term : index->terms) {
      if (term.variable != variable_) continue;
      index->offset = index->offset + term.stride * Dim(begin_);
      offset_overflowed_ = offset_overflowed_ || !index->offset.valid();
    }
  }
  void Rename(ExprId* id) const {
    if (id->valid()) *id = map_[id->value()];
  }

  ExprId New(Expr expr, Interval range = {}) {
    ranges_.push_back(range);
    return AddExpr(&region_, std::move(expr));
  }
  ExprId Constant(DType dtype, uint64_t bits) {
    const auto value = static_cast<int64_t>(bits);
    return New({.dtype = dtype, .bits = bits}, std::pair(value, value));
  }

  // What the expression is in this part.
  ExprId Map(Expr expr) {
    for (ExprId& operand : expr.operands) Rename(&operand);
    switch (expr.kind) {
      case Expr::Kind::kLoad:
        return MapLoad(expr);
      case Expr::Kind::kVariable: {
        const int64_t extent = region_.extents[expr.number].constant();
        const ExprId own = New(expr, std::pair(0, extent - 1));
        if (expr.number != variable_ || begin_ == 0) return own;
        return New(Binary(Op::kAdd, own, Constant(DType::kI64, begin_)),
                   std::pair(begin_, begin_ + extent - 1));
      }
      case Expr::Kind::kOp:
        return MapOp(expr);
      default:
        if (const auto constant = ConstantOf(expr)) {
          return New(expr, std::pair(*constant, *constant));
        }
        return New(expr, expr.kind == Expr::Kind::kConstant &&
                                 expr.dtype == DType::kBool
                             ? Interval(std::pair(expr.bits, expr.bits))
                             : Interval());
    }
  }

  static Expr Binary(Op op, ExprId a, ExprId b) {
    Expr expr{.kind = Expr::Kind::kOp, .dtype = DType::kI64, .op = op};
    expr.operands[0] = a;
    expr.operands[1] = b;
    return expr;
  }

  ExprId MapLoad(const Expr& expr) {
    const Access& access = region_.accesses[expr.number];
    if (!access.checked || access.source != Access::Source::kInput) {
      return New(expr);
    }
    const std::vector<Dim>& dims = region_.inputs[access.number].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      Index numerator = access.indices[d];
      const int64_t divisor = std::exchange(numerator.divisor, 1);
      const auto range = Range(numerator, region_.extents);
      const auto end = EndOf(dims[d], divisor);
      if (!range || !end || (range->second >= 0 && range->first < *end)) {
        continue;
      }
      return access.fill.valid() ? map_[access.fill.value()]
                                 : Constant(expr.dtype, 0);
    }
    return New(expr);
  }

  ExprId MapOp(const Expr& expr) {
    const auto range = [&](int operand) {
      return ranges_[expr.operands[operand].value()];
    };
    const auto is = [](const Interval& interval, int64_t value) {
      return interval && *interval == std::pair(value, value);
    };
    if (expr.op == Op::kSelect && range(0)) {
      if (is(range(0), 1)) return expr.operands[1];
      if (is(range(0), 0)) return expr.operands[2];
    }
    if (expr.op == Op::kAnd && expr.dtype == DType::kBool) {
      for (const int i : {0, 1}) {
        if (is(range(i), 0)) return expr.operands[i];
        if (is(range(i), 1)) return expr.operands[1 - i];
      }
    }
    if (expr.op == Op::kCompare && range(0) && range(1)) {
      if (const auto holds = Compare(expr.comparison, *range(0), *range(1))) {
        return Constant(DType::kBool, *holds ? 1 : 0);
      }
    }
    return New(expr, expr.dtype == DType::kI64 ? RangeOf(expr) : Interval());
  }

  static std::optional<bool> Compare(Comparison comparison, const Ends& a,
                                     const Ends& b) {
    if (comparison == Comparison::kGe) {
      if (a.first >= b.second) return true;
      if (a.second < b.first) return false;
    }
    if (comparison == Comparison::kLt) {
      if (a.second < b.first) return true;
      if (a.first >= b.second) return false;
    }
    return std::nullopt;
  }

  // Of sums and multiples of what is known. Nothing where one may wrap around:
  // comparisons are then as they are computed, and no range says how.
  Interval RangeOf(const Expr& expr) const {
    if (!expr.operands[1].valid()) return {};
    const Interval a = ranges_[expr.operands[0].value()];
    const Interval b = ranges_[expr.operands[1].value()];
    if (!a || !b) return {};
    switch (expr.op) {
      case Op::kAdd:
        return Between(CheckedAdd(a->first, b->first),
                       CheckedAdd(a->second, b->second));
      case Op::kSub:
        return Between(CheckedSub(a->first, b->second),
                       CheckedSub(a->second, b->first));
      case Op::kMul:
        return Products(*a, *b);
      default:
        return {};
    }
  }

  const Region& original_;
  const uint32_t variable_;
  const int64_t begin_;
  bool offset_overflowed_ = false;
  Region region_;
  std::vector<ExprId> map_;       // of the original's expressions
  std::vector<Interval> ranges_;  // of the part's: of i64 and bool
};

}  // namespace

std::vector<Region> SplitAlong(const Region& region, uint32_t variable) {
  const std::vector<int64_t> points = Cuts(region, variable).Find();
  const auto count = static_cast<int64_t>(points.size()) - 1;
  if (count < 2 || count > kMostParts) return {};
  std::vector<Region> parts;
  for (int64_t i = 0; i < count; ++i) {
    auto part = Part(region, variable, points[i], points[i + 1]).Make();
    if (!part) return {};
    parts.push_back(*std::move(part));
  }
  return parts;
}

}  // namespace encore::backends::cpu
