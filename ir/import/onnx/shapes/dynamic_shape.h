// Data-dependent sizes.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/shapes/index_expr.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// The bound of a size that nothing bounds.
inline constexpr int64_t kMaxSize = int64_t{1} << 40;

// Steps and positions beyond this lie past every axis; sums of two stay exact.
inline constexpr int64_t kFar = int64_t{1} << 61;

using IndexExprs = std::vector<IndexExpr>;

// A new symbol for a data-dependent size in [0, upper]; without an upper bound
// any size that a dim may have.
Dim RunTimeSize(GraphBuilder& g, std::optional<int64_t> upper = std::nullopt);

// Whether input i is known when the model is compiled; dims may be symbols.
bool IsKnown(NodeContext& context, int i);
// Whether it is a constant.
bool IsConstant(NodeContext& context, int i);

// Whether the dim depends on a data-dependent size.
bool IsDataDependent(NodeContext& context, const Dim& dim);

// The extent as an i64 scalar.
Value DimValue(NodeContext& context, const Dim& dim);

// The elements of input i, a scalar or a vector of integers of known length.
// `what` names it in errors.
StatusOr<IndexExprs> ElementsOf(NodeContext& context, int i,
                                std::string_view what);
// The same of as many elements as there are `others`.
StatusOr<IndexExprs> ElementsOf(NodeContext& context, int i,
                                std::string_view what, size_t count,
                                std::string_view others);
// The only element of input i.
StatusOr<IndexExpr> ElementOf(NodeContext& context, int i,
                              std::string_view what);

// Dims from integers, and what must hold for these to make sense.
class ShapeBuilder {
 public:
  explicit ShapeBuilder(NodeContext& context) : context_(context) {}

  // An extent of this graph as an integer.
  IndexExpr Extent(const Dim& dim) const { return {context_.builder(), dim}; }

  // The dim whose extent is `size`: itself where it is known, else a symbol. A
  // constant, and what data say, is required to be in [0, most], where nothing
  // is given for data in [0, kMaxSize]; an expression only to be at most a
  // constant `most`: the graph's own checks do the rest.
  Dim Define(const IndexExpr& size,
             const std::optional<Dim>& most = std::nullopt);

  // What must be true. Where it never is, Assert's error is `otherwise`, or
  // Assert's own message.
  void Require(const Condition& condition, std::string_view otherwise = {});
  // That a == b, which is a fact of the graph once it is asserted.
  void RequireEqual(const IndexExpr& a, const IndexExpr& b);
  // `x`, which is required to be in [lower, upper] and so is.
  IndexExpr RequireWithin(const IndexExpr& x, int64_t lower, int64_t upper);
  // An axis of a rank from its start.
  IndexExpr RequireAxis(const IndexExpr& axis, int64_t rank);
  // The product of extents; one that no memory has is required not to be.
  IndexExpr Product(const IndexExprs& extents);

  // `x`, to be computed with once the sizes are known. Where what is required
  // does not hold, the run ends with `message`; where it never does,
  // InvalidArgument says so now.
  StatusOr<Value> Assert(Value x, std::string_view message);

 private:
  struct Definition {
    Dim dim;
    Value size;
  };
  NodeContext& context_;
  std::vector<Definition> definitions_;  // of Assert
  std::vector<std::pair<Dim, Dim>> equal_;
  Condition holds_ = true;
  std::string otherwise_;
};

// 0, 1, … below a dim, as an i64 vector.
Value CountTo(NodeContext& context, const Dim& dim);

// The dim that is `count`, an i64 scalar in [0, upper].
Dim CountedSize(NodeContext& context, Value count, int64_t upper = kMaxSize);

// `x`, where the run ends with `message`.
Value FailWith(GraphBuilder& g, Value x, std::string_view message);

// The positions in ascending order where the vector `mask` is true, at `most`
// so many where that is known, as an i64 vector of data-dependent size.
Value PositionsOf(NodeContext& context, Value mask,
                  std::optional<int64_t> most = std::nullopt);

// The first elements of the vector `buffer` under the shape whose extents are
// the elements of `dims`; `a` and `b` are the two shapes that it may be, of one
// rank and of known extents.
Value TakeFront(NodeContext& context, Value buffer, Value dims, const Shape& a,
                const Shape& b);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_DYNAMIC_SHAPE_H_
