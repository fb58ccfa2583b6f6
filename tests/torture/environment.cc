#include "encore/tests/torture/environment.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>

#include "encore/ir/support/check.h"
#include "encore/ir/support/parse_number.h"

namespace encore::torture {
namespace {

// The number that a variable is set to; nothing where it is not set.
std::optional<uint64_t> Given(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const auto number = ParseNumber<uint64_t>(text);
  ENCORE_CHECK(number.has_value()) << name << " is no number: " << text;
  return number;
}

}  // namespace

int Rounds(int usual) {
  constexpr const char* kName = "ENCORE_TORTURE_ROUNDS";
  const uint64_t rounds = Given(kName).value_or(usual);
  ENCORE_CHECK(rounds > 0 && rounds <= 1'000'000'000)
      << kName << ": " << rounds;
  return static_cast<int>(rounds);
}

uint64_t Seed() {
  const uint64_t seed =
      Given("ENCORE_TORTURE_SEED").value_or(std::random_device()());
  std::cout << "seed " << seed << "\n";
  return seed;
}

uint64_t FirstOf(const Sample& sample) {
  return sample.one_in == 1 ? 0 : Seed() % sample.one_in;
}

}  // namespace encore::torture
