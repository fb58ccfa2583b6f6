#include "encore/opt/tensor/functions/labels.h"

#include <algorithm>
#include <utility>

namespace encore::opt {
namespace {

bool HasRepetition(Labels labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

}  // namespace

Labels NewLabels(int count, int* next) {
  Labels labels(count);
  for (int& label : labels) label = (*next)++;
  return labels;
}

bool AreAxes(std::span<const int64_t> axes, size_t rank) {
  return std::ranges::all_of(axes, [&](int64_t axis) {
    return axis >= 0 && axis < static_cast<int64_t>(rank);
  });
}

bool Contains(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::optional<LabelledProduct> LabelProduct(const DotGeneralAttrs& attrs,
                                            const Labels& lhs, int rhs_rank,
                                            int* next) {
  LabelledProduct product;
  product.lhs = lhs;
  product.rhs = NewLabels(rhs_rank, next);
  for (const AxisPairs* pairs : {&attrs.batch, &attrs.contract}) {
    if (pairs->lhs.size() != pairs->rhs.size() ||
        !AreAxes(pairs->lhs, lhs.size()) ||
        !AreAxes(pairs->rhs, product.rhs.size())) {
      return std::nullopt;
    }
    for (size_t i = 0; i < pairs->lhs.size(); ++i) {
      const int label = lhs[pairs->lhs[i]];
      product.rhs[pairs->rhs[i]] = label;
      if (pairs == &attrs.batch) {
        product.result.push_back(label);
      } else {
        product.contracted.push_back(label);
      }
    }
  }
  for (const Labels* operand : {&product.lhs, &product.rhs}) {
    for (const int label : *operand) {
      if (!Contains(product.contracted, label) &&
          !Contains(product.result, label)) {
        product.result.push_back(label);
      }
    }
  }
  return product;
}

std::optional<Contraction> Contract(const Labels& lhs, const Labels& rhs,
                                    const Labels& kept, const Labels& order) {
  if (HasRepetition(lhs) || HasRepetition(rhs)) return std::nullopt;
  Contraction made;
  Labels visited;  // labels of lhs, those of `order` first
  for (const Labels* labels : {&order, &lhs}) {
    for (const int label : *labels) {
      if (Contains(lhs, label) && !Contains(visited, label)) {
        visited.push_back(label);
      }
    }
  }
  for (const int label : visited) {
    const auto at = std::ranges::find(rhs, label);
    const bool keep = Contains(kept, label);
    if (at == rhs.end()) {
      if (!keep) return std::nullopt;
      continue;
    }
    AxisPairs& pairs = keep ? made.attrs.batch : made.attrs.contract;
    pairs.lhs.push_back(std::ranges::find(lhs, label) - lhs.begin());
    pairs.rhs.push_back(at - rhs.begin());
    if (keep) made.result.push_back(label);
  }
  for (const int label : lhs) {
    if (!Contains(rhs, label)) made.result.push_back(label);
  }
  for (const int label : rhs) {
    if (Contains(lhs, label)) continue;
    if (!Contains(kept, label)) return std::nullopt;
    made.result.push_back(label);
  }
  return made;
}

std::optional<TransposeAttrs> Reorder(const Labels& have, const Labels& want) {
  if (have.size() != want.size()) return std::nullopt;
  TransposeAttrs attrs;
  for (const int label : want) {
    const auto at = std::ranges::find(have, label);
    if (at == have.end()) return std::nullopt;
    attrs.permutation.push_back(at - have.begin());
  }
  return attrs;
}

Ints PositionsOf(const Labels& labels, const Labels& picked) {
  Ints positions;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (Contains(picked, labels[i])) {
      positions.push_back(static_cast<int64_t>(i));
    }
  }
  return positions;
}

std::optional<LabelledProduct> LabelOperands(const DotGeneralAttrs* attrs,
                                             const Shape& lhs, const Shape& rhs,
                                             int* next) {
  if (attrs == nullptr) return std::nullopt;
  return LabelProduct(*attrs, NewLabels(lhs.rank(), next), rhs.rank(), next);
}

Shape ShapeOfLabels(const Labels& labels, const LabelledProduct& product,
                    const Shape& lhs, const Shape& rhs) {
  std::vector<Dim> dims;
  for (const int label : labels) {
    const auto at = std::ranges::find(product.lhs, label);
    dims.push_back(
        at != product.lhs.end()
            ? lhs[static_cast<int>(at - product.lhs.begin())]
            : rhs[static_cast<int>(std::ranges::find(product.rhs, label) -
                                   product.rhs.begin())]);
  }
  return Shape(std::move(dims));
}

}  // namespace encore::opt
