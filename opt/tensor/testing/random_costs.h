// RandomCosts: numbers that make any node the cheaper one, for tests.
#ifndef ENCORE_OPT_TENSOR_TESTING_RANDOM_COSTS_H_
#define ENCORE_OPT_TENSOR_TESTING_RANDOM_COSTS_H_

#include <cstdint>
#include <optional>

#include "encore/ir/ops/attributes.h"
#include "encore/opt/tensor/costs.h"

namespace encore::opt {

// Any choice may be the cheapest, so that every rule is taken at its word.
class RandomCosts : public Costs {
 public:
  explicit RandomCosts(uint64_t seed) : seed_(seed) {}
  std::optional<double> NodeSeconds(const CostedNode& node) const override {
    uint64_t bits = Fingerprint(node.attributes) ^ seed_;
    bits += static_cast<uint64_t>(node.op) * 0x9E3779B97F4A7C15u;
    bits *= 0xBF58476D1CE4E5B9u;
    return 1e-6 + static_cast<double>(bits >> 44);
  }

 private:
  uint64_t seed_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_RANDOM_COSTS_H_
