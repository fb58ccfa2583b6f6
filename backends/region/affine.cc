#include "encore/backends/region/affine.h"

#include <algorithm>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"

namespace encore::backends {

Index VariableIndex(uint32_t variable) {
  Index index;
  index.terms.push_back({variable, Dim(1)});
  return index;
}

Index Sum(const Index& a, const Index& b) {
  ENCORE_CHECK(a.divisor == 1 && b.divisor == 1);
  ENCORE_CHECK(!a.indirect.valid() || !b.indirect.valid());
  Index sum;
  sum.offset = a.offset + b.offset;
  sum.indirect = a.indirect.valid() ? a.indirect : b.indirect;
  size_t i = 0, k = 0;
  while (i < a.terms.size() || k < b.terms.size()) {
    if (k == b.terms.size() ||
        (i < a.terms.size() && a.terms[i].variable < b.terms[k].variable)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() ||
               b.terms[k].variable < a.terms[i].variable) {
      sum.terms.push_back(b.terms[k++]);
    } else {
      const Dim stride = a.terms[i].stride + b.terms[k].stride;
      if (!(stride == Dim(0))) {
        sum.terms.push_back({a.terms[i].variable, stride});
      }
      ++i, ++k;
    }
  }
  return sum;
}

Index Multiple(const Index& a, const Dim& factor) {
  ENCORE_CHECK(a.divisor == 1 && !a.indirect.valid());
  Index product;
  product.offset = a.offset * factor;
  if (factor == Dim(0)) return product;
  product.terms = a.terms;
  for (Index::Term& term : product.terms) term.stride = term.stride * factor;
  return product;
}

Index Plus(Index index, const Dim& offset) {
  index.offset = index.offset + offset;
  return index;
}

std::optional<uint32_t> PureVariable(const Index& index) {
  if (index.terms.size() != 1 || index.indirect.valid() || index.divisor != 1 ||
      !(index.offset == Dim(0)) || !(index.terms[0].stride == Dim(1))) {
    return std::nullopt;
  }
  return index.terms[0].variable;
}

bool IsZero(const Index& index) {
  return index.terms.empty() && !index.indirect.valid() &&
         index.offset == Dim(0);
}

bool Covers(const Index& index, const Dim& dim, std::span<const Dim> extents) {
  if (index.indirect.valid() || !(index.offset == Dim(0)) ||
      index.divisor != 1) {
    return false;
  }
  std::vector<Index::Term> terms = index.terms;
  Dim reached(1);
  while (!terms.empty()) {
    const auto it = std::find_if(
        terms.begin(), terms.end(),
        [&](const Index::Term& term) { return term.stride == reached; });
    if (it == terms.end()) return false;
    reached = reached * extents[it->variable];
    terms.erase(it);
  }
  return reached == dim;
}

std::optional<std::pair<int64_t, int64_t>> Range(const Index& index,
                                                 std::span<const Dim> extents) {
  if (index.indirect.valid() || !index.offset.is_constant()) {
    return std::nullopt;
  }
  int64_t low = index.offset.constant(), high = low;
  for (const Index::Term& term : index.terms) {
    const Dim& extent = extents[term.variable];
    if (!term.stride.is_constant() || !extent.is_constant() ||
        extent.constant() == 0) {
      return std::nullopt;
    }
    const auto reach =
        CheckedMul(term.stride.constant(), extent.constant() - 1);
    if (!reach) return std::nullopt;
    int64_t& end = *reach < 0 ? low : high;
    const auto moved = CheckedAdd(end, *reach);
    if (!moved) return std::nullopt;
    end = *moved;
  }
  return std::pair(low, high);
}

bool StaysWithin(std::span<const Index> indices, std::span<const Dim> dims,
                 std::span<const Dim> extents) {
  for (size_t d = 0; d < indices.size(); ++d) {
    const std::optional<uint32_t> variable = PureVariable(indices[d]);
    if (variable.has_value() && extents[*variable] == dims[d]) continue;
    const auto range = Range(indices[d], extents);
    if (!range.has_value() || indices[d].divisor != 1 ||
        !dims[d].is_constant() || range->first < 0 ||
        range->second >= dims[d].constant()) {
      return false;
    }
  }
  return true;
}

Division Divide(const Index& index, const Dim& divisor,
                std::span<const Dim> extents) {
  if (divisor == Dim(1)) return {std::pair(index, Index{}), std::nullopt};
  if (index.indirect.valid() || !index.offset.is_constant()) return {};
  Index quotient, remainder;
  if (divisor.is_constant() && divisor.constant() > 0) {
    const int64_t by = divisor.constant();
    for (const Index::Term& term : index.terms) {
      if (!term.stride.is_constant()) {
        return {};
      }
      if (term.stride.constant() % by == 0) {
        quotient.terms.push_back({term.variable, term.stride.constant() / by});
      } else {
        remainder.terms.push_back(term);
      }
    }
    const int64_t offset = index.offset.constant();
    quotient.offset = FloorDiv(Dim(offset), Dim(by));
    remainder.offset = Mod(Dim(offset), Dim(by));
    const auto range = Range(remainder, extents);
    if (!range.has_value()) return {};
    if (range->first >= 0 && range->second < by) {
      return {std::pair(quotient, remainder), std::nullopt};
    }
    for (const Index::Term& term : remainder.terms) {
      const int64_t stride = term.stride.constant();
      const int64_t extent = extents[term.variable].constant();
      if (stride <= 0 || by % stride != 0 || extent <= by / stride) continue;
      if (extent % (by / stride) == 0) {
        return {std::nullopt, Split{term.variable, by / stride}};
      }
    }
    return {};
  }
  // A symbolic divisor: one variable of that extent beside multiples of it.
  if (!(index.offset == Dim(0))) return {};
  for (const Index::Term& term : index.terms) {
    if (term.stride == divisor) {
      quotient.terms.push_back({term.variable, Dim(1)});
    } else if (remainder.terms.empty() && term.stride == Dim(1) &&
               extents[term.variable] == divisor) {
      remainder.terms.push_back(term);
    } else {
      return {};
    }
  }
  return {std::pair(quotient, remainder), std::nullopt};
}

std::optional<std::vector<ReshapeGroup>> ReshapeGroups(
    std::span<const Dim> from, std::span<const Dim> to) {
  std::vector<ReshapeGroup> groups;
  const int from_rank = static_cast<int>(from.size());
  const int to_rank = static_cast<int>(to.size());
  int i = 0, k = 0;
  while (i < from_rank || k < to_rank) {
    ReshapeGroup group{i, i, k, k};
    Dim left(1), right(1);
    // Grows the side with fewer dims ahead of it until the products agree.
    do {
      const bool both_constant = left.is_constant() && right.is_constant();
      const bool take_left =
          i < from_rank &&
          (k == to_rank || (group.from_end == group.from_begin) ||
           (group.to_end > group.to_begin && both_constant &&
            left.constant() < right.constant()) ||
           (group.to_end > group.to_begin && !both_constant &&
            left.is_constant()));
      if (take_left) {
        left = left * from[i++];
        group.from_end = i;
      } else if (k < to_rank) {
        right = right * to[k++];
        group.to_end = k;
      } else {
        return std::nullopt;
      }
    } while (!(left == right) && (i < from_rank || k < to_rank));
    if (!(left == right)) return std::nullopt;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace encore::backends
