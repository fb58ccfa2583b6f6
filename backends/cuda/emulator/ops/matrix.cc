// ldmatrix, stmatrix, mma.
//
// Layouts: PTX ISA, "Matrix Fragments for mma" and "ldmatrix". A lane is number
// lane % 4 of group lane / 4.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "encore/backends/cuda/emulator/access.h"
#include "encore/backends/cuda/emulator/mma_shape.h"
#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

bool WholeWarp(Warp& warp, const Instruction& i, uint32_t mask) {
  if (mask == 0xffffffffu) return true;
  warp.Fail(i, static_cast<uint32_t>(std::countr_zero(mask)),
            "needs all 32 lanes of the warp");
  return false;
}

// Rows of 16 bytes whose addresses the lanes give: eight lanes a matrix.
using Rows = std::array<std::byte*, 32>;
bool FindRows(Warp& warp, const Instruction& i, uint32_t operand,
              AccessKind kind, Rows* rows) {
  const auto addresses = Addresses(warp, i, operand);
  const uint32_t lanes = 8u * i.vector;
  const uint32_t mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  CountAccess(warp, i.space, addresses, mask, 16, kind);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    (*rows)[lane] = Access(warp, i, lane, i.space, addresses[lane], 16, kind);
    if ((*rows)[lane] == nullptr) return false;
  }
  return true;
}

// Where the half word n of a lane's register is in its matrix.
struct Cell {
  uint32_t row;
  uint32_t column;
};
Cell CellOf(const Instruction& i, uint32_t lane, uint32_t n) {
  const Cell cell = {lane / 4, lane % 4 * 2 + n};
  if (!i.Has(Modifier::kTrans)) return cell;
  return {cell.column, cell.row};
}

void LoadMatrix(Warp& warp, const Instruction& i, uint32_t mask) {
  Rows rows = {};
  if (!WholeWarp(warp, i, mask) ||
      !FindRows(warp, i, i.vector, AccessKind::kRead, &rows)) {
    return;
  }
  for (uint32_t m = 0; m < i.vector; ++m) {
    uint64_t* out = warp.Destination(i, m);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint64_t packed = 0;
      for (uint32_t n = 0; n < 2; ++n) {
        const Cell cell = CellOf(i, lane, n);
        uint16_t half;
        std::memcpy(&half, rows[m * 8 + cell.row] + cell.column * 2, 2);
        packed |= uint64_t{half} << 16 * n;
      }
      out[lane] = packed;
    }
  }
}

void StoreMatrix(Warp& warp, const Instruction& i, uint32_t mask) {
  Rows rows = {};
  if (!WholeWarp(warp, i, mask) ||
      !FindRows(warp, i, 0, AccessKind::kWrite, &rows)) {
    return;
  }
  for (uint32_t m = 0; m < i.vector; ++m) {
    const uint64_t* in = warp.Source(i, 1 + m);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t n = 0; n < 2; ++n) {
        const Cell cell = CellOf(i, lane, n);
        const auto half = static_cast<uint16_t>(in[lane] >> 16 * n);
        std::memcpy(rows[m * 8 + cell.row] + cell.column * 2, &half, 2);
      }
    }
  }
}

double Element(Type type, uint64_t word, uint32_t n) {
  switch (type) {
    case Type::kF16:
      return DecodeFloat(DType::kF16, static_cast<uint16_t>(word >> 16 * n));
    case Type::kBF16:
      return DecodeFloat(DType::kBF16, static_cast<uint16_t>(word >> 16 * n));
    case Type::kTF32:  // the lower bits are not looked at
      return FromBits<float>(word & 0xffffe000u);
    case Type::kS8:
      return static_cast<int8_t>(word >> 8 * n);
    default:
      return static_cast<uint8_t>(word >> 8 * n);
  }
}

// Matrices of doubles, which hold all types' elements and products exactly.
struct Matrices {
  std::array<double, 16 * 32> a;
  std::array<double, 32 * 8> b;
};

void Gather(Warp& warp, const Instruction& i, const MmaShape& shape,
            Matrices* out) {
  const auto k = static_cast<uint32_t>(shape.k);
  const auto each = static_cast<uint32_t>(4 / ByteWidth(i.source_type));
  const auto first_a = static_cast<uint32_t>(shape.registers[0]);
  const auto count_a = static_cast<uint32_t>(shape.registers[1]);
  const auto count_b = static_cast<uint32_t>(shape.registers[2]);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t group = lane / 4, member = lane % 4;
    for (uint32_t r = 0; r < count_a; ++r) {
      const uint64_t word = warp.Source(i, first_a + r)[lane];
      const uint32_t row = group + 8 * (r & 1);
      for (uint32_t n = 0; n < each; ++n) {
        const uint32_t column = (member + (r >> 1) * 4) * each + n;
        out->a[row * k + column] = Element(i.source_type, word, n);
      }
    }
    for (uint32_t r = 0; r < count_b; ++r) {
      const uint64_t word = warp.Source(i, first_a + count_a + r)[lane];
      for (uint32_t n = 0; n < each; ++n) {
        const uint32_t row = (member + r * 4) * each + n;
        out->b[row * 8 + group] = Element(i.second_type, word, n);
      }
    }
  }
}

// Sums of products and the accumulator. Devices say neither the order nor the
// rounding of sums of f32; a seed draws nearest or toward zero.
uint64_t Accumulate(const Instruction& i, double sum, uint64_t c,
                    const LaunchOptions& options) {
  if (i.type == Type::kS32) {
    const auto value = static_cast<int64_t>(sum) + static_cast<int32_t>(c);
    if (!i.Has(Modifier::kSatfinite)) return static_cast<uint32_t>(value);
    constexpr int64_t kLargest = 0x7fffffff;
    return static_cast<uint32_t>(
        std::min(std::max(value, -kLargest - 1), kLargest));
  }
  const bool cut = options.perturb_approximations && (options.seed & 1) != 0;
  if (i.type == Type::kF16) {
    const double addend = DecodeFloat(DType::kF16, static_cast<uint16_t>(c));
    const double value = AddToOdd(sum, addend);
    return std::isnan(value) ? 0x7fff : EncodeFloat(DType::kF16, value);
  }
  const double value = AddToOdd(sum, FromBits<float>(c));
  if (std::isnan(value)) return 0x7fffffff;
  return ToBits(ToFloat(value, cut ? Rounding::kZero : Rounding::kNearest));
}

void MultiplyAdd(Warp& warp, const Instruction& i, uint32_t mask) {
  if (!WholeWarp(warp, i, mask)) return;
  const MmaShape shape = *MmaShapeOf(i);
  Matrices matrices;
  Gather(warp, i, shape, &matrices);
  const auto k = static_cast<uint32_t>(shape.k);
  const auto d_registers = static_cast<uint32_t>(shape.registers[0]);
  const auto first_c = d_registers + static_cast<uint32_t>(shape.registers[1]) +
                       static_cast<uint32_t>(shape.registers[2]);
  const bool halves = i.type == Type::kF16;
  // The results may go to the accumulators' registers, in any order.
  std::array<std::array<uint64_t, 32>, 4> addends;
  for (uint32_t r = 0; r < d_registers; ++r) {
    std::copy_n(warp.Source(i, first_c + r), 32, addends[r].begin());
  }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t r = 0; r < d_registers; ++r) {
      const uint64_t c = addends[r][lane];
      const uint32_t row = lane / 4 + 8 * (halves ? r : r >> 1);
      uint64_t packed = 0;
      for (uint32_t n = 0; n < (halves ? 2u : 1u); ++n) {
        const uint32_t column = lane % 4 * 2 + (halves ? n : r & 1);
        double sum = 0;
        for (uint32_t at = 0; at < k; ++at) {
          sum += matrices.a[row * k + at] * matrices.b[at * 8 + column];
        }
        packed |=
            Accumulate(i, sum, halves ? c >> 16 * n : c, warp.launch->options)
            << 16 * n;
      }
      warp.Destination(i, r)[lane] = packed;
    }
  }
}

}  // namespace

Handler SelectMatrix(const Instruction& i) {
  using enum Modifier;
  const bool tiles = i.type == Type::kB16 && i.Has(kM8n8) && i.Has(kAligned);
  switch (i.op) {
    case Op::kLdmatrix:
      return tiles ? &LoadMatrix : nullptr;
    case Op::kStmatrix:
      return tiles ? &StoreMatrix : nullptr;
    case Op::kMma:
      return i.Has(kAligned) && i.Has(kRow) && i.Has(kCol) ? &MultiplyAdd
                                                           : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
