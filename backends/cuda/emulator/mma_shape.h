// Shapes of mma.sync and how many registers a thread holds of each matrix.
//
// PTX ISA, "Matrix Fragments for mma": a thread has 1/32 of each matrix.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_MMA_SHAPE_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_MMA_SHAPE_H_

#include <array>
#include <optional>

#include "encore/backends/cuda/emulator/module.h"

namespace encore::ptx {

struct MmaShape {
  int k = 0;  // 16 rows, 8 columns
  // Registers of 32 bits of d, a, b, c.
  std::array<int, 4> registers = {};
};

// Nothing where the emulator does not execute it.
inline std::optional<MmaShape> MmaShapeOf(const Instruction& instruction) {
  using enum Modifier;
  const Type a = instruction.source_type, d = instruction.type;
  const bool f32 = d == Type::kF32;
  const bool half = a == Type::kF16 && (f32 || d == Type::kF16);
  const bool brain = a == Type::kBF16 && f32;
  const bool tensor = a == Type::kTF32 && f32;
  const auto is_byte = [](Type type) {
    return type == Type::kS8 || type == Type::kU8;
  };
  const bool bytes =
      is_byte(a) && is_byte(instruction.second_type) && d == Type::kS32;
  if (!bytes && a != instruction.second_type) return std::nullopt;
  int k = 0;
  if (instruction.Has(kM16n8k4) && tensor) k = 4;
  if (instruction.Has(kM16n8k8) && (half || brain || tensor)) k = 8;
  if (instruction.Has(kM16n8k16) && (half || brain || bytes)) k = 16;
  if (instruction.Has(kM16n8k32) && bytes) k = 32;
  if (k == 0) return std::nullopt;
  const int a_bytes = ByteWidth(a) * 16 * k / 32;
  const int d_registers = d == Type::kF16 ? 2 : 4;
  return MmaShape{k, {d_registers, a_bytes / 4, a_bytes / 8, d_registers}};
}

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_MMA_SHAPE_H_
