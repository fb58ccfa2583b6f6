#include "encore/tools/io/generate.h"

#include <random>

namespace encore::tools {
namespace {

// Generated integers stay below this, so that they are indices into most
// tables.
constexpr int64_t kMaxGenerated = 100;

}  // namespace

Literal Generate(DType dtype, const std::vector<int64_t>& dims, uint64_t seed) {
  Literal literal(dtype, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < literal.element_count() && !IsHost(dtype); ++i) {
    const uint64_t bits = random();
    if (IsFloat(dtype)) {
      // 53 bits as a fraction.
      literal.SetDouble(i, static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    } else if (dtype == DType::kBool) {
      literal.SetInt(i, static_cast<int64_t>(bits & 1));
    } else {
      literal.SetInt(i, static_cast<int64_t>(bits % kMaxGenerated));
    }
  }
  return literal;
}

}  // namespace encore::tools
