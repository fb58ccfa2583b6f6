// Floating-point arithmetic with PTX's roundings, on the host.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ROUNDING_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ROUNDING_H_

#include <cstdint>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/ir/types/dtype.h"

namespace encore::ptx {

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };

// Of .rn, .rz, .rm, .rp; to the nearest where none stands.
Rounding RoundingOf(const Instruction& i);

// The operation rounded once, in the given direction.
enum class Arithmetic : uint8_t { kAdd, kSub, kMul, kDiv, kFma, kSqrt };
float Compute(Arithmetic op, Rounding rounding, float a, float b, float c);
double Compute(Arithmetic op, Rounding rounding, double a, double b, double c);

// a + b as a double whose last bit is set where bits were lost, so that
// rounding it to a format of at most 24 bits is rounding the exact sum.
// (Rounding to odd: S. Boldo, G. Melquiond, Emulation of FMA and correctly
// rounded sums, 2008.)
double AddToOdd(double a, double b);

// `value` in a narrower format, rounded once; of `saturate` see EncodeFloat.
uint16_t Encode(DType dtype, double value, Rounding rounding, bool saturate);
float ToFloat(double value, Rounding rounding);

// Without subnormals: zero of the same sign.
float Flush(float value);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ROUNDING_H_
