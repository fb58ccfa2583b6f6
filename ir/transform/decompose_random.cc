#include "encore/ir/transform/decompositions.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ops {
namespace {

constexpr int64_t kWord = 0xffffffff;

// Philox 4x32-10 of the counters (low, high, 0, 0), each word in the low half
// of a u64. Source: J. Salmon et al., Parallel random numbers: as easy as 1, 2,
// 3, SC 2011.
std::vector<Value> Philox(GraphBuilder& g, Value low, Value high,
                          int64_t seed) {
  constexpr int64_t kMultipliers[] = {0xd2511f53, 0xcd9e8d57};
  constexpr int64_t kSteps[] = {0x9e3779b9, 0xbb67ae85};
  int64_t keys[] = {seed & kWord, (seed >> 32) & kWord};
  const Value zero = g.Full(low.shape(), g.Scalar(DType::kU64, int64_t{0}));
  std::vector<Value> counter = {low, high, zero, zero};
  for (int round = 0; round < 10; ++round) {
    const Value products[] = {g.Mul(counter[0], kMultipliers[0]),
                              g.Mul(counter[2], kMultipliers[1])};
    const auto mixed = [&](int product, int word) {
      return g.Xor(g.Xor(g.ShiftRight(products[product], 32), counter[word]),
                   keys[1 - product]);
    };
    counter = {mixed(1, 1), g.And(products[1], kWord), mixed(0, 3),
               g.And(products[0], kWord)};
    for (int i = 0; i < 2; ++i) keys[i] = (keys[i] + kSteps[i]) & kWord;
  }
  return counter;
}

}  // namespace

Value DecomposeRandom(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const RandomAttrs& attrs = context.attrs<RandomAttrs>();
  const Shape shape(attrs.shape);
  const Value index =
      g.Reshape(g.Iota(DType::kU64, {shape.ElementCount()}, 0), shape);
  const std::vector<Value> words =
      Philox(g, g.And(index, kWord), g.ShiftRight(index, 32), attrs.seed);
  // As many bits as the format's significand holds, so that no number is
  // rounded up to 1.
  const int bits = SignificandBits(attrs.dtype);
  const Value all = g.Or(g.ShiftLeft(words[0], 32), words[1]);
  const DType wide = bits > 24 ? DType::kF64 : DType::kF32;
  const Value integer = g.Cast(g.ShiftRight(all, 64 - bits), wide);
  return g.Cast(g.Mul(integer, 1.0 / static_cast<double>(int64_t{1} << bits)),
                attrs.dtype);
}

}  // namespace encore::ops
