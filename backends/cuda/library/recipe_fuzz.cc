// Programs with recipes, mutated field by field and byte by byte: what is read
// is what its bytes say, and its operands lie where arithmetic in 128 bits, and
// counting their elements, says.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>

#include "encore/backends/cuda/library/recipe.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/types/dtype.h"

namespace {

using namespace encore::backends::cuda;  // NOLINT: one file, two functions
using encore::DType;
using encore::HostileInteger;
using Matrix = LibraryRecipe::Matrix;

constexpr uint32_t kReads = 5, kWrites = 2;

encore::StatusOr<LibraryParams> Read(const std::string& bytes) {
  return DecodeLibraryParams(std::as_bytes(std::span(bytes)), kReads, kWrites);
}

std::string Written(const LibraryParams& params) {
  const auto bytes = Encode(params);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void MutateSize(int64_t* size, std::mt19937& random) {
  *size = static_cast<int64_t>(
      HostileInteger(static_cast<uint64_t>(*size), random));
}

void MutateMatrix(Matrix* matrix, std::mt19937& random) {
  const auto dtypes = encore::AllDTypes();
  switch (random() % 6) {
    case 0:
      matrix->dtype = dtypes[random() % dtypes.size()];
      return;
    case 1:
      matrix->buffer =
          static_cast<uint32_t>(HostileInteger(matrix->buffer, random));
      return;
    case 2:
      return MutateSize(&matrix->offset, random);
    case 3:
      return MutateSize(&matrix->pitch, random);
    case 4:
      return MutateSize(&matrix->batch_stride, random);
    default:
      matrix->transposed = !matrix->transposed;
  }
}

void MutateField(LibraryParams* params, std::mt19937& random) {
  LibraryRecipe& r = params->recipe;
  const std::array<Matrix*, 3> matrices = {&r.a, &r.b, &r.d};
  const std::array<int64_t*, 6> sizes = {
      &r.rows,  &r.columns,         &r.depth,
      &r.batch, &r.workspace_bytes, &r.alignment};
  auto* const term = random() % 2 == 0 ? &r.c : &r.bias;
  switch (random() % 8) {
    case 0:
      r.compute = static_cast<LibraryRecipe::Compute>(random() % 7);
      return;
    case 1:
      r.relu = !r.relu;
      return;
    case 2:
      *term = *term ? std::nullopt : std::optional(*matrices[random() % 3]);
      return;
    case 3:
      if (*term) MutateMatrix(&**term, random);
      return;
    case 4:
      params->generated_writes = static_cast<uint32_t>(
          HostileInteger(params->generated_writes, random));
      return;
    case 5:
      return MutateMatrix(matrices[random() % 3], random);
    default:
      return MutateSize(sizes[random() % sizes.size()], random);
  }
}

std::string Mutate(std::string bytes, size_t max_size, std::mt19937& random) {
  auto params = Read(bytes);
  if (!params.ok() || random() % 4 == 0) {
    encore::MutateBytes(&bytes, max_size, random);
    return bytes;
  }
  for (uint32_t n = 0; n <= random() % 3; ++n) MutateField(&*params, random);
  return Written(*params);
}

// The first with matrices of the second.
std::string Cross(const std::string& a, const std::string& b, size_t max_size,
                  std::mt19937& random) {
  auto first = Read(a);
  const auto second = Read(b);
  if (!first.ok() || !second.ok()) {
    return encore::CrossBytes(a, b, max_size, random);
  }
  if (random() % 2 == 0) first->recipe.a = second->recipe.a;
  if (random() % 2 == 0) first->recipe.b = second->recipe.b;
  if (random() % 2 == 0) first->recipe.d = second->recipe.d;
  if (random() % 2 == 0) first->recipe.c = second->recipe.c;
  if (random() % 2 == 0) first->recipe.bias = second->recipe.bias;
  return Written(*first);
}

// Every element of a small operand.
void CheckElements(const LibraryOperand& operand) {
  constexpr int64_t kMost = 4096;
  const Matrix& m = *operand.matrix;
  if (operand.rows > kMost / operand.columns ||
      operand.rows * operand.columns > kMost / operand.batch) {
    return;
  }
  std::set<int64_t> elements;
  for (int64_t i = 0; i < operand.batch; ++i) {
    for (int64_t column = 0; column < operand.columns; ++column) {
      for (int64_t row = 0; row < operand.rows; ++row) {
        elements.insert(m.offset + row + column * m.pitch + i * m.batch_stride);
      }
    }
  }
  const int64_t bytes = encore::BitWidth(m.dtype) / 8;
  ENCORE_CHECK(*elements.begin() >= 0);
  ENCORE_CHECK_EQ((*elements.rbegin() + 1) * bytes, EndOf(operand));
  if (!operand.is_written) return;
  ENCORE_CHECK_EQ(static_cast<int64_t>(elements.size()),
                  operand.rows * operand.columns * operand.batch);
}

void CheckSound(const LibraryRecipe& recipe) {
  for (const int64_t size :
       {recipe.rows, recipe.columns, recipe.depth, recipe.batch}) {
    ENCORE_CHECK(size >= 1 && size <= INT32_MAX);
  }
  for (const LibraryOperand& operand : OperandsOf(recipe)) {
    const Matrix& m = *operand.matrix;
    ENCORE_CHECK_LT(m.buffer, operand.is_written ? kWrites : kReads);
    ENCORE_CHECK(m.dtype == DType::kF32 || m.dtype == DType::kF64 ||
                 m.dtype == DType::kF16 || m.dtype == DType::kBF16);
    const __int128 last = __int128{m.offset} + (operand.rows - 1) +
                          __int128{operand.columns - 1} * m.pitch +
                          __int128{operand.batch - 1} * m.batch_stride;
    ENCORE_CHECK((last + 1) * (encore::BitWidth(m.dtype) / 8) <= INT64_MAX);
    CheckElements(operand);
  }
  ENCORE_CHECK(recipe.alignment >= 1 &&
               kWorkspaceAlignment % recipe.alignment == 0);
  ENCORE_CHECK(recipe.workspace_bytes >= 0);
}

}  // namespace

ENCORE_FUZZ_MUTATORS(Mutate, Cross)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes = encore::FuzzBytes(data, size);
  const auto params = Read(bytes);
  if (!params.ok()) {
    ENCORE_CHECK(params.status().code() == encore::StatusCode::kDataLoss);
    return 0;
  }
  ENCORE_CHECK_LE(params->generated_writes, kWrites);
  if (params->recipe.library != kCublasLt) return 0;
  ENCORE_CHECK(Written(*params) == bytes);
  CheckSound(params->recipe);
  return 0;
}
