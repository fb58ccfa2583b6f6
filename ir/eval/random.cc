#include <array>
#include <cmath>

#include "encore/ir/eval/families.h"
#include "encore/ir/types/float_formats.h"

namespace encore::eval {
namespace {

// Philox 4x32-10 as its authors write it, see decompose_random.cc.
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> x,
                               std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t{0xd2511f53} * x[0];
    const uint64_t q = uint64_t{0xcd9e8d57} * x[2];
    x = {static_cast<uint32_t>(q >> 32) ^ x[1] ^ key[0],
         static_cast<uint32_t>(q),
         static_cast<uint32_t>(p >> 32) ^ x[3] ^ key[1],
         static_cast<uint32_t>(p)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return x;
}

}  // namespace

Results EvaluateRandom(const EvalContext& context) {
  const RandomAttrs& attrs = context.attrs<RandomAttrs>();
  const auto seed = static_cast<uint64_t>(attrs.seed);
  const int bits = SignificandBits(attrs.dtype);
  Literal result = context.NewResult();
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const auto words = Philox(
        {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const uint64_t all = (uint64_t{words[0]} << 32) | words[1];
    result.SetDouble(
        i, std::ldexp(static_cast<double>(all >> (64 - bits)), -bits));
  }
  return Literals{std::move(result)};
}

}  // namespace encore::eval
