// Weights that are quantized in blocks.

#include <utility>

#include "encore/ir/import/onnx/convert/quantization.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/packed_bits.h"
#include "encore/ir/import/onnx/shapes/index_expr.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A matrix product by weights [N, K] in blocks along K.
struct BlockedMatrix {
  int64_t k = 0, n = 0, bits = 0, block = 0;

  int64_t blocks() const { return (k + block - 1) / block; }
};

StatusOr<BlockedMatrix> ReadBlockedMatrix(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  BlockedMatrix matrix;
  ENCORE_ASSIGN_OR_RETURN(matrix.k, attributes.RequiredInt("K"));
  ENCORE_ASSIGN_OR_RETURN(matrix.n, attributes.RequiredInt("N"));
  ENCORE_ASSIGN_OR_RETURN(matrix.bits, ReadBits(context));
  ENCORE_ASSIGN_OR_RETURN(matrix.block,
                          ReadBlockSize(context, /*zero_allowed=*/false));
  for (const auto& [name, extent] :
       {std::pair("K", matrix.k), std::pair("N", matrix.n)}) {
    if (extent >= 1 && extent <= INT32_MAX) continue;
    return NodeContext::Error(StrCat("attribute ", name, " is ", extent,
                                     ", expected a positive number"));
  }
  // The least accuracy that is allowed: this is more.
  attributes.Ignore("accuracy_level");
  ENCORE_ASSIGN_OR_RETURN(const int64_t prepacked,
                          attributes.Int("weight_prepacked", 0));
  if (prepacked != 0) {
    return UnimplementedError(
        StrCat("attribute weight_prepacked is ", prepacked,
               ", which is a layout of another device; expected 0"));
  }
  return matrix;
}

// The zero points [N, blocks] in `dtype`, or one for all.
StatusOr<Value> ZeroPoints(NodeContext& context, const BlockedMatrix& matrix,
                           DType dtype) {
  GraphBuilder& g = context.builder();
  const int64_t blocks = matrix.blocks();
  if (!context.HasInput(3)) {
    return context.Scalar(dtype,
                          static_cast<double>(int64_t{1} << (matrix.bits - 1)));
  }
  const Value given = context.Input(3);
  if (IsFloat(given.dtype())) {
    return g.Cast(context.Reshape(given, {matrix.n, blocks}), dtype);
  }
  const int64_t bytes = (blocks * matrix.bits + 7) / 8;
  const Value unpacked =
      UnpackBits(g, context.Reshape(given, {matrix.n, bytes}), matrix.bits);
  return g.Cast(g.SliceAxis(unpacked, 1, 0, blocks), dtype);
}

// One of [N, blocks] for each of [N, K]: that of its block, or of the block
// that g_idx, input 4, names.
StatusOr<Value> PerWeight(NodeContext& context, const BlockedMatrix& matrix,
                          Value values) {
  GraphBuilder& g = context.builder();
  if (values.rank() == 0) return values;
  const Shape shape({matrix.n, matrix.k});
  if (!context.HasInput(4)) {
    return SpreadParameter(context, values, shape, 1, matrix.block);
  }
  const Value blocks = context.Input(4);
  if (blocks.rank() != 1) {
    return NodeContext::Error(
        StrCat("input g_idx is ", blocks.type(), ", expected a vector"));
  }
  // It may go on to the end of the last block.
  return g.Take(values, g.SliceAxis(blocks, 0, 0, matrix.k), 1);
}

Status MatMulNBits(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 6));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const BlockedMatrix matrix,
                          ReadBlockedMatrix(context));
  const Value a = context.Input(0);
  const DType dtype = a.dtype();
  const int64_t blocks = matrix.blocks();
  const Value packed = context.Reshape(
      context.Input(1), {matrix.n, blocks, matrix.block * matrix.bits / 8});
  const Value codes =
      g.SliceAxis(context.Reshape(UnpackBits(g, packed, matrix.bits),
                                  {matrix.n, blocks * matrix.block}),
                  1, 0, matrix.k);
  ENCORE_ASSIGN_OR_RETURN(Value zero, ZeroPoints(context, matrix, dtype));
  ENCORE_ASSIGN_OR_RETURN(zero, PerWeight(context, matrix, zero));
  ENCORE_ASSIGN_OR_RETURN(
      const Value scale,
      PerWeight(context, matrix,
                context.Reshape(context.Input(2), {matrix.n, blocks})));
  const Value weights = g.Mul(g.Sub(g.Cast(codes, dtype), zero), scale);
  Value y = MatMul(context, a, g.TransposeMatrix(weights));
  if (context.HasInput(5)) y = g.Add(y, context.Input(5));
  return context.Output(0, y);
}

// A gather from `data`, quantized in blocks along an axis.
struct BlockedTable {
  int64_t bits = 8, block = 0;
  int64_t gather_axis = 0, quantize_axis = 0;
  Value data, scales, zero_points;
  Value indices;  // from the start, in range
  Value in_range;
};

StatusOr<BlockedTable> ReadBlockedTable(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  BlockedTable table;
  table.data = context.Input(0);
  table.scales = context.Input(2);
  const int rank = table.data.rank();
  const bool is_float = IsFloat(table.data.dtype());
  ENCORE_ASSIGN_OR_RETURN(table.block, ReadBlockSize(context, is_float));
  ENCORE_ASSIGN_OR_RETURN(int64_t axis, attributes.Int("gather_axis", 0));
  ENCORE_ASSIGN_OR_RETURN(table.gather_axis,
                          context.Axis(axis, rank, "attribute gather_axis"));
  ENCORE_ASSIGN_OR_RETURN(axis, attributes.Int("quantize_axis", 1));
  ENCORE_ASSIGN_OR_RETURN(table.quantize_axis,
                          context.Axis(axis, rank, "attribute quantize_axis"));
  if (table.scales.rank() != rank) {
    return NodeContext::Error(StrCat("input scales is ", table.scales.type(),
                                     ", and data ", table.data.type()));
  }
  if (context.HasInput(3)) {
    table.zero_points = context.Input(3);
    if (is_float || table.zero_points.rank() != rank) {
      return NodeContext::Error(StrCat("input zero_points is ",
                                       table.zero_points.type(), ", and data ",
                                       table.data.type()));
    }
  }
  if (is_float) {
    attributes.Ignore("bits");
    return table;
  }
  ENCORE_ASSIGN_OR_RETURN(table.bits, ReadBits(context));
  if (table.data.dtype() != DType::kU8) {
    if (table.bits != 4) {
      return NodeContext::Error(
          StrCat("attribute bits is ", table.bits, " for ", table.data.type()));
    }
    table.bits = 8;  // an element holds one
    return table;
  }
  if (table.gather_axis != 0 || table.quantize_axis != rank - 1 || rank < 2) {
    return NodeContext::Error(
        StrCat("attributes gather_axis and quantize_axis are ",
               table.gather_axis, " and ", table.quantize_axis,
               ", expected the first and the last axis of u8 data"));
  }
  return table;
}

// Indices that may count from the end, from the start, and which of them there
// are.
void ReadIndices(NodeContext& context, BlockedTable* table) {
  GraphBuilder& g = context.builder();
  const Value raw = g.Cast(context.Input(1), DType::kI64);
  const Value extent =
      DimValue(g, table->data.shape()[static_cast<int>(table->gather_axis)]);
  table->in_range = g.And(g.Compare(raw, g.Neg(extent), Comparison::kGe),
                          g.Compare(raw, extent, Comparison::kLt));
  table->indices =
      g.Select(g.Compare(raw, 0, Comparison::kLt), g.Add(raw, extent), raw);
}

// Scales or zero points, of `bits` each, one for each element of `taken`, the
// gathered data.
StatusOr<Value> Taken(NodeContext& context, const BlockedTable& table,
                      Value parameters, int64_t bits, const Shape& taken) {
  GraphBuilder& g = context.builder();
  const int64_t gather = table.gather_axis, quantize = table.quantize_axis;
  if (gather == quantize) {
    const Value blocks = table.block == 0 ? g.Mul(table.indices, 0)
                                          : g.Div(table.indices, table.block);
    return g.BroadcastTo(g.Take(parameters, blocks, gather), taken);
  }
  const bool one_for_all =
      IsFloat(table.data.dtype()) &&
      parameters.shape()[static_cast<int>(gather)] == Dim(1);
  const Value indices = one_for_all ? g.Mul(table.indices, 0) : table.indices;
  const Value rows = UnpackBits(g, g.Take(parameters, indices, gather), bits);
  if (table.block == 0) return g.BroadcastTo(rows, taken);
  const int64_t axis =
      quantize + (quantize > gather ? table.indices.rank() - 1 : 0);
  ENCORE_ASSIGN_OR_RETURN(
      const Value spread,
      SpreadParameter(context, rows, taken, axis, table.block));
  return g.BroadcastTo(spread, taken);
}

Status GatherBlockQuantized(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 4));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(BlockedTable table, ReadBlockedTable(context));
  ReadIndices(context, &table);
  const DType dtype = table.scales.dtype();
  const bool is_packed = table.data.dtype() == DType::kU8;
  Value codes = g.Take(table.data, table.indices, table.gather_axis);
  if (is_packed) codes = UnpackBits(g, codes, table.bits);
  Value y = g.Cast(codes, dtype);
  ENCORE_RETURN_IF_ERROR(g.status());
  const Shape taken = context.shape(y);
  if (table.zero_points.valid()) {
    ENCORE_ASSIGN_OR_RETURN(
        const Value zero,
        Taken(context, table, table.zero_points, table.bits, taken));
    y = g.Sub(y, g.Cast(zero, dtype));
  } else if (is_packed) {
    y = g.Sub(y, static_cast<double>(int64_t{1} << (table.bits - 1)));
  }
  ENCORE_ASSIGN_OR_RETURN(const Value scale,
                          Taken(context, table, table.scales, 8, taken));
  y = g.Mul(y, scale);
  // An index that is none gives zeros.
  Dims dims = table.indices.shape().dims();
  dims.resize(y.rank() - table.gather_axis, Dim(1));
  return context.Output(
      0, g.Select(g.BroadcastTo(context.Reshape(table.in_range, dims), taken),
                  y, 0.0));
}

constexpr Converter kConverters[] = {
    {"com.microsoft.GatherBlockQuantized", GatherBlockQuantized, Op::kGather},
    {"com.microsoft.MatMulNBits", MatMulNBits, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> BlockConverters() { return kConverters; }

}  // namespace encore::onnx
