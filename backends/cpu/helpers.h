// The function table that generated code gets with every call.
//
// Images have no imports; what they do not contain they call through here. The
// table only grows at its end, and an image says (in its program's params)
// which version it was generated for.
#ifndef ENCORE_BACKENDS_CPU_HELPERS_H_
#define ENCORE_BACKENDS_CPU_HELPERS_H_

#include <cstdint>

namespace encore::backends::cpu {

inline constexpr uint32_t kHelperVersion = 2;

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
  // From version 2 on. Lane i of a check does not hold where bad[i] is not 0:
  // indices[i] at positions[i] is not in [0, count). `self` is the table that
  // the kernel was given, `site` says which check it is (CheckSite).
  void (*fault)(const HelperTable* self, int64_t site, int64_t lanes,
                const int64_t* bad, const int64_t* indices,
                const int64_t* positions, int64_t count, int64_t extent);
};

// What a kernel with checks needs.
inline constexpr uint32_t kCheckHelperVersion = 2;

// A region's Check as a number; its parts are below 256.
struct CheckSite {
  uint32_t node = 0, component = 0, axis = 0;
  bool scatter = false;
};
int64_t Encode(const CheckSite& site);
CheckSite DecodeSite(int64_t site);

// For kernels without checks; checked_call.h has those of the others.
const HelperTable& Helpers();

// Entry of a generated kernel: computes one of its partitions.
using KernelFunction = void (*)(void* const* buffers, const int64_t* args,
                                int64_t partition, const HelperTable* helpers);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_HELPERS_H_
