#include "encore/backends/cuda/library/recipe.h"

#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// The last byte is the version.
constexpr std::string_view kMagic = "CUL1";

using Compute = LibraryRecipe::Compute;
using Matrix = LibraryRecipe::Matrix;

// a + b * c, the largest i64 where that is less. None is negative.
int64_t SaturatingSum(int64_t a, int64_t b, int64_t c) {
  return SaturatingAdd(
      a, CheckedMul(b, c).value_or(std::numeric_limits<int64_t>::max()));
}

bool IsComputedIn(DType dtype, Compute compute) {
  if (dtype == DType::kF64) return compute == Compute::kF64;
  if (IsHalf(dtype)) return compute == Compute::kF32;
  return dtype == DType::kF32 && compute != Compute::kF64;
}

// Whether no two elements are one.
bool LieApart(const LibraryOperand& d) {
  const Matrix& matrix = *d.matrix;
  if (d.batch == 1) return true;
  // Behind one another, or each column beside those of the others.
  return matrix.batch_stride >=
             SaturatingSum(d.rows, d.columns - 1, matrix.pitch) ||
         (matrix.batch_stride >= d.rows &&
          matrix.pitch >=
              SaturatingSum(d.rows, d.batch - 1, matrix.batch_stride));
}

// The part of a matrix that is not sound, or an empty string.
std::string_view UnsoundPart(const LibraryOperand& operand) {
  const Matrix& matrix = *operand.matrix;
  if (matrix.offset < 0) return "offset";
  if (matrix.batch_stride < 0) return "batch_stride";
  if (matrix.transposed && operand.name != "a" && operand.name != "b") {
    return "transposed";
  }
  if (operand.name == "bias") {
    if (matrix.pitch != 0) return "pitch";
    if (matrix.batch_stride != 0) return "batch_stride";
  } else if (matrix.pitch < operand.rows) {
    return "pitch";
  }
  if (EndOf(operand) == std::numeric_limits<int64_t>::max()) return "offset";
  if (operand.is_written && !LieApart(operand)) return "batch_stride";
  return {};
}

void WriteMatrix(const Matrix& matrix, ByteWriter* out) {
  out->String(Name(matrix.dtype));
  out->Varint(matrix.buffer);
  for (const int64_t value :
       {matrix.offset, matrix.pitch, matrix.batch_stride}) {
    out->Varint(static_cast<uint64_t>(value));
  }
  out->Byte(matrix.transposed);
}

// Reads fields, and notes the first that is not there or cannot be.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : in_(bytes) {}

  int64_t Size(std::string_view field) {
    const uint64_t value = in_.Varint();
    Check(value <= uint64_t{std::numeric_limits<int64_t>::max()}, field);
    return static_cast<int64_t>(value);
  }
  // Below `count`.
  uint32_t Number(std::string_view field, uint64_t count) {
    const uint64_t value = in_.Varint();
    Check(value < count, field);
    return static_cast<uint32_t>(value);
  }
  bool Bool(std::string_view field) { return Number(field, 2) == 1; }
  Compute ComputeOf(std::string_view field) {
    return static_cast<Compute>(
        Number(field, static_cast<uint64_t>(Compute::kF64) + 1));
  }
  std::string_view String(std::string_view field) {
    const std::string_view value = in_.String();
    Check(true, field);
    return value;
  }
  Matrix MatrixOf(std::string_view field, uint32_t buffers) {
    const auto part = [&](std::string_view name) {
      return StrCat(field, ".", name);
    };
    Matrix matrix;
    const auto dtype = ParseDType(String(part("dtype")));
    Check(dtype.has_value(), part("dtype"));
    matrix.dtype = dtype.value_or(DType::kF32);
    matrix.buffer = Number(part("buffer"), buffers);
    matrix.offset = Size(part("offset"));
    matrix.pitch = Size(part("pitch"));
    matrix.batch_stride = Size(part("batch_stride"));
    matrix.transposed = Bool(part("transposed"));
    return matrix;
  }
  // Behind the last field.
  void End() { Check(in_.done(), "end"); }

  void Check(bool sound, std::string_view field) {
    if ((!sound || !in_.ok()) && unsound_.empty()) unsound_ = field;
  }
  const std::string& unsound() const { return unsound_; }

 private:
  ByteReader in_;
  std::string unsound_;
};

// The field that is not sound, or an empty string.
std::string ReadBody(std::string_view bytes, uint32_t reads, uint32_t writes,
                     LibraryRecipe* recipe) {
  FieldReader in(bytes);
  recipe->rows = in.Size("rows");
  recipe->columns = in.Size("columns");
  recipe->depth = in.Size("depth");
  recipe->batch = in.Size("batch");
  recipe->compute = in.ComputeOf("compute");
  recipe->relu = in.Bool("relu");
  recipe->workspace_bytes = in.Size("workspace_bytes");
  recipe->alignment = in.Size("alignment");
  recipe->a = in.MatrixOf("a", reads);
  recipe->b = in.MatrixOf("b", reads);
  recipe->d = in.MatrixOf("d", writes);
  if (in.Bool("c")) recipe->c = in.MatrixOf("c", reads);
  if (in.Bool("bias")) recipe->bias = in.MatrixOf("bias", reads);
  in.End();
  // It is in a write behind the result.
  in.Check(recipe->workspace_bytes == 0 || recipe->d.buffer + 1 < writes,
           "workspace_bytes");
  return in.unsound().empty() ? UnsoundField(*recipe) : in.unsound();
}

std::string BodyOf(const LibraryRecipe& recipe) {
  ByteWriter out;
  for (const int64_t size :
       {recipe.rows, recipe.columns, recipe.depth, recipe.batch}) {
    out.Varint(static_cast<uint64_t>(size));
  }
  out.Byte(static_cast<uint8_t>(recipe.compute));
  out.Byte(recipe.relu);
  out.Varint(static_cast<uint64_t>(recipe.workspace_bytes));
  out.Varint(static_cast<uint64_t>(recipe.alignment));
  for (const Matrix* const matrix : {&recipe.a, &recipe.b, &recipe.d}) {
    WriteMatrix(*matrix, &out);
  }
  for (const auto* const matrix : {&recipe.c, &recipe.bias}) {
    out.Byte(matrix->has_value());
    if (*matrix) WriteMatrix(**matrix, &out);
  }
  return out.Take();
}

}  // namespace

bool IsHalf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

std::vector<LibraryOperand> OperandsOf(const LibraryRecipe& recipe) {
  const LibraryRecipe& r = recipe;
  std::vector<LibraryOperand> operands = {
      {"a", &r.a, r.rows, r.depth, r.batch},
      {"b", &r.b, r.depth, r.columns, r.batch},
      {"d", &r.d, r.rows, r.columns, r.batch, /*is_written=*/true}};
  if (r.c) operands.push_back({"c", &*r.c, r.rows, r.columns, r.batch});
  if (r.bias) operands.push_back({"bias", &*r.bias, r.rows, 1, 1});
  for (LibraryOperand& operand : operands) {
    if (operand.matrix->transposed) std::swap(operand.rows, operand.columns);
  }
  return operands;
}

int64_t EndOf(const LibraryOperand& operand) {
  const Matrix& matrix = *operand.matrix;
  int64_t elements = SaturatingSum(matrix.offset, operand.rows, 1);
  elements = SaturatingSum(elements, operand.columns - 1, matrix.pitch);
  elements = SaturatingSum(elements, operand.batch - 1, matrix.batch_stride);
  return SaturatingSum(0, elements, BitWidth(matrix.dtype) / 8);
}

std::string UnsoundField(const LibraryRecipe& recipe) {
  const LibraryRecipe& r = recipe;
  for (const auto& [name, size] :
       {std::pair("rows", r.rows), std::pair("columns", r.columns),
        std::pair("depth", r.depth), std::pair("batch", r.batch)}) {
    if (size < 1 || size > std::numeric_limits<int32_t>::max()) return name;
  }
  if (!IsComputedIn(r.a.dtype, r.compute)) return "compute";
  if (r.b.dtype != r.a.dtype) return "b.dtype";
  if (r.d.dtype != r.a.dtype &&
      !(IsHalf(r.a.dtype) && r.d.dtype == DType::kF32)) {
    return "d.dtype";
  }
  if (r.c && r.c->dtype != r.d.dtype) return "c.dtype";
  if (r.bias && r.bias->dtype != r.d.dtype) return "bias.dtype";
  if (r.compute == Compute::kF64) {
    if (r.relu) return "relu";
    if (r.c) return "c";
    if (r.bias) return "bias";
  }
  for (const LibraryOperand& operand : OperandsOf(r)) {
    const std::string_view part = UnsoundPart(operand);
    if (!part.empty()) return StrCat(operand.name, ".", part);
  }
  if (r.workspace_bytes < 0) return "workspace_bytes";
  if (r.alignment < 1 || r.alignment > kWorkspaceAlignment ||
      !std::has_single_bit(static_cast<uint64_t>(r.alignment))) {
    return "alignment";
  }
  return {};
}

std::vector<std::byte> Encode(const LibraryParams& params) {
  ByteWriter out;
  out.Raw(kMagic);
  out.String(params.recipe.library);
  out.Varint(params.recipe.version);
  out.String(params.generated);
  out.Varint(params.generated_writes);
  out.Varint(params.params.size());
  out.Raw(params.params);
  out.String(BodyOf(params.recipe));
  const auto bytes = std::as_bytes(std::span(out.str()));
  return {bytes.begin(), bytes.end()};
}

bool HasRecipe(std::span<const std::byte> params) {
  return ByteReader(params).Raw(kMagic.size()) == kMagic;
}

StatusOr<LibraryParams> DecodeLibraryParams(std::span<const std::byte> bytes,
                                            uint32_t reads, uint32_t writes) {
  if (!HasRecipe(bytes)) {
    return DataLossError("the recipe of a CUDA kernel is of another version");
  }
  FieldReader in({reinterpret_cast<const char*>(bytes.data()) + kMagic.size(),
                  bytes.size() - kMagic.size()});
  LibraryParams params;
  LibraryRecipe& recipe = params.recipe;
  recipe.library = std::string(in.String("library"));
  recipe.version = in.Number("version", uint64_t{UINT32_MAX} + 1);
  params.generated = std::string(in.String("generated"));
  params.generated_writes = in.Number("generated_writes", uint64_t{writes} + 1);
  const std::string_view generated = in.String("params");
  const std::string_view body = in.String("body");
  in.End();
  std::string unsound = in.unsound();
  if (unsound.empty() && recipe.library == kCublasLt) {
    unsound = ReadBody(body, reads, writes, &recipe);
  }
  if (!unsound.empty()) {
    return DataLossError(
        StrCat("the recipe of a CUDA kernel is not sound: ", unsound));
  }
  const auto bytes_of = std::as_bytes(std::span(generated));
  params.params.assign(bytes_of.begin(), bytes_of.end());
  return params;
}

}  // namespace encore::backends::cuda
