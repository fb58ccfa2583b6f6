// The function table that generated code gets with every call.
//
// Images have no imports; what they do not contain they call through here. The
// table only grows at its end, and an image says (in its program's params)
// which version it was generated for.
#ifndef ENCORE_BACKENDS_CPU_HELPERS_H_
#define ENCORE_BACKENDS_CPU_HELPERS_H_

#include <cstdint>

namespace encore::backends::cpu {

inline constexpr uint32_t kHelperVersion = 1;

// Functions of the C library that generated code calls: those of
// ir/ops/functions.def. Numbers are part of the images' format.
enum class MathFunction : uint32_t {
#define ENCORE_FUNCTION1(Kind, function, number, code) k##Kind = number,
#define ENCORE_FUNCTION2(Kind, function, number, code) k##Kind = number,
#include "encore/ir/ops/functions.def"
#undef ENCORE_FUNCTION1
#undef ENCORE_FUNCTION2
};

struct HelperTable {
  uint32_t version;
  uint32_t size;  // bytes of this struct
  // out[i] = f(x[i]) or f(x[i], y[i]) for i < count. `out` may be `x`.
  void (*math)(uint32_t function, const double* x, const double* y, double* out,
               int64_t count);
};

const HelperTable& Helpers();

// Entry of a generated kernel: computes one of its partitions.
using KernelFunction = void (*)(void* const* buffers, const int64_t* args,
                                int64_t partition, const HelperTable* helpers);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_HELPERS_H_
