// AttributeDraws: random attributes of a node whose result is to have a given
// shape, and the shapes of operands that they then ask for.
#ifndef ENCORE_OPT_TENSOR_CHECK_ATTRIBUTE_DRAWS_H_
#define ENCORE_OPT_TENSOR_CHECK_ATTRIBUTE_DRAWS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/check/choices.h"

namespace encore::opt {

struct AttributeDraw {
  Attributes attributes;
  std::vector<Shape> operands;
  // Per operand and dim: the dim of the result that it is, or -1. Empty where
  // that does not say all.
  std::vector<Ints> sources = {};
  Shape result = {};
};

// What is wanted of a node.
struct WantedNode {
  Op op = Op::kInput;
  size_t operands = 0;
  DType dtype = DType::kF32;  // of the result
  Shape shape = {};           // of the result
  bool of_scalar = false;     // a broadcast of one element
};

class AttributeDraws {
 public:
  // `choices` outlives this. Extents are 0, 1, 2, primes, and `symbols`; now
  // and then all are equal, so that swapped axes show in values alone.
  AttributeDraws(Choices* choices, std::vector<Dim> symbols);

  Shape RandomShape(int64_t rank);

  // Nothing where there are none that fit, or for an operator that is not
  // known here (those of structs that only composites and scatters have).
  std::optional<AttributeDraw> New(const WantedNode& wanted);
  // A reduction of what is there already; nothing where no axes fit.
  std::optional<AttributeDraw> NewReduction(const Shape& operand,
                                            const Shape& result);
  // The same attributes and result for other operands, where there are some.
  AttributeDraw Other(Op op, AttributeDraw draw);
  // The same attributes for another result; nothing where that is not possible.
  static std::optional<AttributeDraw> Again(AttributeDraw draw,
                                            const Shape& shape);

 private:
  int64_t Below(int64_t limit) { return choices_.Below(limit); }
  bool Chance(int percent) { return choices_.Chance(percent); }
  Dim RandomExtent();
  Ints RandomPermutation(int rank);

  static AttributeDraw Same(Attributes attributes, size_t operands,
                            const Shape& shape);
  std::optional<AttributeDraw> NewElementwise(const WantedNode& wanted);
  AttributeDraw DrawTranspose(const Shape& shape);
  AttributeDraw DrawReshape(const Shape& shape);
  AttributeDraw DrawBroadcast(const Shape& shape, bool scalar);
  AttributeDraw DrawSlice(const Shape& shape);
  AttributeDraw DrawPad(const Shape& shape);
  AttributeDraw DrawReverse(const Shape& shape);
  std::optional<AttributeDraw> DrawConcat(const Shape& shape, size_t operands);
  std::optional<AttributeDraw> DrawAlongAxis(Op op, const Shape& shape);
  Combiner DrawCombiner();
  AttributeDraw DrawReduce(Op op, const Shape& shape);
  AttributeDraw DrawProduct(const Shape& shape);
  void DrawFactor(int side, int batch, int lhs_end, const Shape& shape,
                  const std::vector<std::pair<int64_t, Dim>>& summed,
                  DotGeneralAttrs* attrs, AttributeDraw* draw);
  std::optional<AttributeDraw> DrawConvolution(const Shape& shape);
  AttributeDraw OtherConvolution(AttributeDraw draw);
  AttributeDraw DrawWindow(const Shape& shape);
  AttributeDraw DrawGather(const Shape& shape);

  Choices& choices_;
  const std::vector<Dim> symbols_;
  std::optional<Dim> every_extent_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_ATTRIBUTE_DRAWS_H_
