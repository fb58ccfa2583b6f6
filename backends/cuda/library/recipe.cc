#include "encore/backends/cuda/library/recipe.h"

#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "encore/ir/support/bytes.h"

namespace encore::backends::cuda {
namespace {

// The last byte is the version.
constexpr std::string_view kMagic = "CUL1";

using Matrix = LibraryRecipe::Matrix;

void WriteMatrix(const Matrix& matrix, ByteWriter* out) {
  out->String(Name(matrix.dtype));
  out->Varint(matrix.buffer);
  for (const int64_t value :
       {matrix.offset, matrix.pitch, matrix.batch_stride}) {
    out->Varint(static_cast<uint64_t>(value));
  }
  out->Byte(matrix.transposed);
}

bool ReadBool(ByteReader* in) {
  const uint8_t value = in->Byte();
  if (value > 1) in->Fail();
  return value == 1;
}

// Between `least` and what fits an i64.
int64_t ReadSize(ByteReader* in, int64_t least) {
  const uint64_t value = in->Varint();
  if (value > uint64_t{std::numeric_limits<int64_t>::max()} ||
      static_cast<int64_t>(value) < least) {
    in->Fail();
    return least;
  }
  return static_cast<int64_t>(value);
}

Matrix ReadMatrix(ByteReader* in, uint32_t buffers) {
  Matrix matrix;
  const auto dtype = ParseDType(in->String());
  if (!dtype) in->Fail();
  matrix.dtype = dtype.value_or(DType::kF32);
  const uint64_t buffer = in->Varint();
  if (buffer >= buffers) in->Fail();
  matrix.buffer = static_cast<uint32_t>(buffer);
  matrix.offset = ReadSize(in, 0);
  matrix.pitch = ReadSize(in, 0);
  matrix.batch_stride = ReadSize(in, 0);
  matrix.transposed = ReadBool(in);
  return matrix;
}

void ReadBody(ByteReader* in, uint32_t reads, uint32_t writes,
              LibraryRecipe* recipe) {
  for (int64_t* const size :
       {&recipe->rows, &recipe->columns, &recipe->depth, &recipe->batch}) {
    *size = ReadSize(in, 1);
  }
  const uint8_t compute = in->Byte();
  if (compute > static_cast<uint8_t>(LibraryRecipe::Compute::kF64)) in->Fail();
  recipe->compute = static_cast<LibraryRecipe::Compute>(compute);
  recipe->relu = ReadBool(in);
  recipe->workspace_bytes = ReadSize(in, 0);
  recipe->alignment = ReadSize(in, 1);
  if (!std::has_single_bit(static_cast<uint64_t>(recipe->alignment))) {
    in->Fail();
  }
  recipe->a = ReadMatrix(in, reads);
  recipe->b = ReadMatrix(in, reads);
  recipe->d = ReadMatrix(in, writes);
  if (ReadBool(in)) recipe->c = ReadMatrix(in, reads);
  if (ReadBool(in)) recipe->bias = ReadMatrix(in, reads);
  // The workspace is in a write behind the result.
  if (recipe->workspace_bytes > 0 && recipe->d.buffer + 1 >= writes) in->Fail();
  if (!in->done()) in->Fail();
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
  ByteReader in(bytes);
  if (in.Raw(kMagic.size()) != kMagic) {
    return DataLossError("the recipe of a CUDA kernel is of another version");
  }
  LibraryParams params;
  LibraryRecipe& recipe = params.recipe;
  recipe.library = std::string(in.String());
  const uint64_t version = in.Varint();
  if (version > UINT32_MAX) in.Fail();
  recipe.version = static_cast<uint32_t>(version);
  params.generated = std::string(in.String());
  const uint64_t generated_writes = in.Varint();
  if (generated_writes > writes) in.Fail();
  params.generated_writes = static_cast<uint32_t>(generated_writes);
  const std::string_view generated = in.String();
  ByteReader body(in.String());
  if (recipe.library == kCublasLt) ReadBody(&body, reads, writes, &recipe);
  if (!in.ok() || !in.done() || !body.ok()) {
    return DataLossError("the recipe of a CUDA kernel is not sound");
  }
  const auto bytes_of = std::as_bytes(std::span(generated));
  params.params.assign(bytes_of.begin(), bytes_of.end());
  return params;
}

}  // namespace encore::backends::cuda
