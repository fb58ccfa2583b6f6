// LibraryRecipe: a product as a library of NVIDIA's is told it, without an
// algorithm: which that is, the device's library says when it is loaded.
//
//   d[batch] = relu(op(a)[batch] op(b)[batch] + c[batch] + bias)
//
// Matrices are column-major, as the library has them: element (row, column) of
// one in batch i is at offset + row + column * pitch + i * batch_stride. d is
// rows x columns, op(a) rows x depth, op(b) depth x columns; bias has an
// element for each row. c, bias and relu may be absent.
//
// A program that has a recipe carries a generated kernel of the same region
// too, which is launched where there is no library, none that has an algorithm,
// or buffers that are aligned to less than the recipe says.
//
//   "CUL1", string library, V version, string stand-in, V its writes, string
//   params, string body
//
// in the words of support/bytes.h. The body is the library's own; of cublaslt:
//
//   V rows, V columns, V depth, V batch, byte compute, byte relu, V workspace,
//   V alignment, matrices a, b, d, byte has c, c, byte has bias, bias
//
// A matrix is string dtype, V buffer, V offset, V pitch, V batch stride, byte
// transposed.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_RECIPE_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_RECIPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {

inline constexpr std::string_view kCublasLt = "cublaslt";
// The major version of cuBLASLt whose interface recipes are written for.
inline constexpr uint32_t kCublasLtMajor = 13;

struct LibraryRecipe {
  // What products are computed in: f32 and f64 as they are, the others f32
  // whose factors may be rounded to what they are named by.
  enum class Compute : uint8_t { kF32, kTF32, kBF16, kF16, kF64 };
  struct Matrix {
    DType dtype = DType::kF32;
    uint32_t buffer = 0;  // of the step's reads, or of its writes for d
    int64_t offset = 0;   // all in elements
    int64_t pitch = 0;
    int64_t batch_stride = 0;
    bool transposed = false;  // of factors: op is the transpose

    bool operator==(const Matrix&) const = default;
  };

  // kCublasLt. Of any other nothing below `version` is known.
  std::string library;
  uint32_t version = 0;  // of the library's interface that it is written for
  int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  Compute compute = Compute::kF32;
  bool relu = false;
  Matrix a, b, d;
  std::optional<Matrix> c;      // of d's dtype, shape and order
  std::optional<Matrix> bias;   // of d's dtype
  int64_t workspace_bytes = 0;  // that an algorithm may use
  // Bytes that all buffers at their offsets are expected to be aligned to.
  int64_t alignment = 16;

  bool operator==(const LibraryRecipe&) const = default;
};

// The workspace begins at a multiple of this in the step's scratch memory.
inline constexpr int64_t kWorkspaceAlignment = 256;

// Whether it is f16 or bf16, whose products are summed in f32.
bool IsHalf(DType dtype);

// A matrix of a recipe as it lies in memory, or the bias, a matrix of one
// column.
struct LibraryOperand {
  std::string_view name;  // of its field
  const LibraryRecipe::Matrix* matrix;
  int64_t rows, columns, batch;
  bool is_written = false;
};
// Of those that the recipe has: a, b, d, c and the bias.
std::vector<LibraryOperand> OperandsOf(const LibraryRecipe& recipe);

// The bytes from the beginning of an operand's buffer to behind its last
// element, the largest i64 where there are more.
int64_t EndOf(const LibraryOperand& operand);

// The first field with a value that no recipe of cuBLASLt has, "d.pitch"; empty
// where all are sound:
//
//   1. rows, columns, depth and batch are at least 1 and fit an i32, in which
//      the library and its kernels count.
//   2. a and b are of one dtype, f32, f16, bf16 or f64, and computed in what
//      that may be: f64 in kF64, halves in kF32, f32 in any other. d is of that
//      dtype, of halves f32 too; c and the bias are of d's.
//   3. Products of f64 have nothing behind them.
//   4. Offsets, pitches and batch strides are not negative, pitches at least
//      the rows, ends of operands fit an i64. d's elements lie apart. Factors
//      alone are transposed, and the bias has neither pitch nor batch stride.
//   5. The workspace is not negative, the alignment a power of two of at most
//      kWorkspaceAlignment.
std::string UnsoundField(const LibraryRecipe& recipe);

// What the params of a program with a recipe hold.
struct LibraryParams {
  LibraryRecipe recipe;
  // The generated kernel: its name, its params (kernel_params.h) and how many
  // of the step's writes it has, the first ones.
  std::string generated;
  uint32_t generated_writes = 0;
  std::vector<std::byte> params;

  bool operator==(const LibraryParams&) const = default;
};

std::vector<std::byte> Encode(const LibraryParams& params);

// Whether they are params of a program with a recipe.
bool HasRecipe(std::span<const std::byte> params);

// Safe on any bytes. DataLoss where they are not the params of a program with
// so many reads and writes, or the recipe has an unsound field; the field is
// named. `params` is not looked at, and neither is the body of an unknown
// library.
StatusOr<LibraryParams> DecodeLibraryParams(std::span<const std::byte> bytes,
                                            uint32_t reads, uint32_t writes);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_RECIPE_H_
