// Products by labels: each dim of each operand gets a label, paired dims the
// same one, as in einsum's notation. What a rule does to products of products
// (another order of them, operands swapped or transposed, sums and slices taken
// before) is then said of sets of labels, whatever batch and free dims there
// are.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_LABELS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {

// By dim.
using Labels = std::vector<int>;

// `count` labels that nothing has; *next is the first free one.
Labels NewLabels(int count, int* next);

// A product of two labelled operands.
struct LabelledProduct {
  Labels lhs, rhs, result;
  Labels contracted;  // in the order of the pairs: that of summation
};

// The labels of a dot_general's operands. lhs has `lhs` where that is given;
// dims of rhs that are paired get the labels of their partners, others new
// ones. Nothing where an axis is out of range.
std::optional<LabelledProduct> LabelProduct(const DotGeneralAttrs& attrs,
                                            const Labels& lhs, int rhs_rank,
                                            int* next);

// The dot_general that multiplies operands of these labels: those in both are
// batch dims where `kept` has them and contracted otherwise. Nothing where a
// label that is not kept is in one operand only, or one is twice in an operand.
// Contracted dims stand in the order that `order` has them, others after them.
struct Contraction {
  DotGeneralAttrs attrs;
  Labels result;
};
std::optional<Contraction> Contract(const Labels& lhs, const Labels& rhs,
                                    const Labels& kept,
                                    const Labels& order = {});

// The product with new labels; `attrs` may be null.
std::optional<LabelledProduct> LabelOperands(const DotGeneralAttrs* attrs,
                                             const Shape& lhs, const Shape& rhs,
                                             int* next);

// The extents of labels that the operands have.
Shape ShapeOfLabels(const Labels& labels, const LabelledProduct& product,
                    const Shape& lhs, const Shape& rhs);

bool Contains(const Labels& labels, int label);

// Whether all are axes of so many dims. What a rule gives to a function need
// not belong together.
bool AreAxes(std::span<const int64_t> axes, size_t rank);

// The permutation by which a transpose makes dims `want` of dims `have`;
// nothing where these are not the same labels.
std::optional<TransposeAttrs> Reorder(const Labels& have, const Labels& want);

// The positions of those of `labels` that are in `picked`, ascending.
Ints PositionsOf(const Labels& labels, const Labels& picked);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_LABELS_H_
