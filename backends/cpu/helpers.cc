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

void NoFault(const HelperTable*, int64_t, int64_t, const int64_t*,
             const int64_t*, const int64_t*, int64_t, int64_t) {}

constexpr HelperTable kTable = {kHelperVersion, sizeof(HelperTable), &Math,
                                &NoFault};

}  // namespace

int64_t Encode(const CheckSite& site) {
  return int64_t{site.node} << 24 | int64_t{site.component} << 16 |
         int64_t{site.axis} << 8 | (site.scatter ? 1 : 0);
}

CheckSite DecodeSite(int64_t site) {
  return {static_cast<uint32_t>(site >> 24 & 255),
          static_cast<uint32_t>(site >> 16 & 255),
          static_cast<uint32_t>(site >> 8 & 255), (site & 1) != 0};
}

const HelperTable& Helpers() { return kTable; }

}  // namespace encore::backends::cpu
