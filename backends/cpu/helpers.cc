#include "encore/backends/cpu/helpers.h"

#include <cmath>

namespace encore::backends::cpu {
namespace {

template <typename Function>
void Apply(const double* x, double* out, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) out[i] = function(x[i]);
}

template <typename Function>
void Apply(const double* x, const double* y, double* out, int64_t count,
           Function function) {
  for (int64_t i = 0; i < count; ++i) out[i] = function(x[i], y[i]);
}

void Math(uint32_t function, const double* x, const double* y, double* out,
          int64_t count) {
  switch (static_cast<MathFunction>(function)) {
#define ENCORE_FUNCTION1(Kind, name, number, code) \
  case MathFunction::k##Kind:                      \
    return Apply(x, out, count, [](double a) { return std::name(a); });
#define ENCORE_FUNCTION2(Kind, name, number, code) \
  case MathFunction::k##Kind:                      \
    return Apply(x, y, out, count,                 \
                 [](double a, double b) { return std::name(a, b); });
#include "encore/ir/ops/functions.def"
#undef ENCORE_FUNCTION1
#undef ENCORE_FUNCTION2
  }
}

constexpr HelperTable kTable = {kHelperVersion, sizeof(HelperTable), &Math};

}  // namespace

const HelperTable& Helpers() { return kTable; }

}  // namespace encore::backends::cpu
