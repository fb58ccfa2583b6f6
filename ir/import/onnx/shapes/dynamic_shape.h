// Sizes that are known only when a graph runs.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// A new symbol for a data-dependent size in [lower, upper]; without an
// upper bound any size that a dim may have.
Dim RunTimeSize(GraphBuilder& g, int64_t lower, std::optional<int64_t> upper);
Dim RunTimeSize(NodeContext& context, int64_t lower,
                std::optional<int64_t> upper);

// 0, 1, … below `count`, an i64 scalar, as an i64 vector of run-time size at
// most `upper`. Equal counts are one size.
Value CountUp(NodeContext& context, Value count, std::optional<int64_t> upper);

// Whether input i is known when the model is compiled; dims may be symbols.
bool IsKnown(NodeContext& context, int i);
// Whether it is a constant.
bool IsConstant(NodeContext& context, int i);

// Whether the dim depends on a data-dependent size.
bool IsFoundOut(NodeContext& context, const Dim& dim);

// The extent as an i64 scalar.
Value DimValue(NodeContext& context, const Dim& dim);

// The extent that an i64 scalar is, where it is known to be one.
std::optional<Dim> KnownDim(NodeContext& context, Value scalar);

// Whether an i64 scalar is known to be `number`.
bool IsNumber(Value scalar, int64_t number);

// The elements of input i, a scalar or a vector of integers of known length, as
// i64 scalars; those that are extents or constants in a vector of data are
// known as such. `what` names it in errors.
StatusOr<std::vector<Value>> ElementsOf(NodeContext& context, int i,
                                        std::string_view what);

// Sizes that data say, and what must hold for the data to make sense.
class SizesByData {
 public:
  explicit SizesByData(NodeContext& context);

  // A dim whose extent is `size`, an i64 scalar; one below 0 or above `upper`
  // is required not to be.
  Dim Add(Value size, std::optional<int64_t> upper);
  // The extent of a dim, which may be one that Add gave, as an i64 scalar.
  Value ValueOf(const Dim& dim) const;
  // A bool scalar that must be true.
  void Require(Value condition);
  // The product of extents, i64 scalars; one that no memory has is required not
  // to be.
  Value Product(const std::vector<Value>& extents);

  // `x`, to be computed with once the sizes are known. Where what is required
  // does not hold, the run ends with `message`; where it never does,
  // InvalidArgument says so now. Nothing is added or required after the first
  // call.
  StatusOr<Value> Assert(Value x, std::string_view message);

  // 0, 1, … below a dim that Add gave, as an i64 vector; after Assert.
  Value CountTo(const Dim& dim) const;

 private:
  struct Found {
    Dim dim;
    Value size, numbers;  // no numbers: not defined yet
  };
  NodeContext& context_;
  std::vector<Found> found_;
  Value holds_;
};

// The positions in ascending order where the vector `mask` is true, as an i64
// vector of run-time size.
Value PositionsOf(NodeContext& context, Value mask);

// The first elements of the vector `buffer` under the shape whose extents are
// the elements of `dims`; `a` and `b` are the two shapes that it may be, of one
// rank and of known extents.
Value TakeFront(NodeContext& context, Value buffer, Value dims, const Shape& a,
                const Shape& b);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_
