// Mutants: results as a wrong kernel gives them. A suite whose bounds or whose
// data let one of them pass would let the kernel pass.
#ifndef ENCORE_BACKENDS_CONFORMANCE_MUTANTS_H_
#define ENCORE_BACKENDS_CONFORMANCE_MUTANTS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "encore/backends/conformance/bounds.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

enum class Mutant : uint8_t {
  // Zeros, false, empty strings; hosts' objects of as many.
  kZero,
  // Every element is off by at least 1 %: a float x is the first element of its
  // dtype from 1.01 x on away from 0 (0, infinities and NaN stay), an integer x
  // becomes x + max(1, |x| / 100) and wraps, a bool is inverted, a string has a
  // character more.
  kOnePercent,
};
inline constexpr Mutant kMutants[] = {Mutant::kZero, Mutant::kOnePercent};

std::string_view Name(Mutant mutant);

// What the mutant gives where `value` is right.
Literal Mutate(Mutant mutant, const Literal& value);

// Whether the mutant of a kernel that gives `right` fails: one output or more
// leaves its bounds.
bool Fails(Mutant mutant, std::span<const Literal> right,
           std::span<const Bounds> bounds);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_MUTANTS_H_
