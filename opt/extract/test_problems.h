// Random problems and an oracle for tests.
#ifndef ENCORE_OPT_EXTRACT_TEST_PROBLEMS_H_
#define ENCORE_OPT_EXTRACT_TEST_PROBLEMS_H_

#include <cstdint>
#include <optional>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

struct RandomShape {
  uint32_t min_classes = 5;
  uint32_t max_classes = 12;
  uint32_t max_nodes = 3;  // per class
  uint32_t max_children = 3;
  bool cyclic = true;
  bool negative = false;
  bool groups = false;
  bool forbidden = false;  // some nodes of infinite cost
  bool fractions = false;
};

// The shape that a test of many problems gives its number `seed`: all
// combinations of the flags come round.
RandomShape ShapeOf(uint64_t seed);

// The same problem for the same arguments, on every platform.
Problem RandomProblem(const RandomShape& shape, uint64_t seed);

// The least cost of all acyclic selections, found by trying them all; nothing
// where there is none. Exponential time.
std::optional<double> BruteForceCost(const Problem& problem);

// A chain of `length` classes, each with one node that needs the next.
Problem Chain(uint32_t length);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_TEST_PROBLEMS_H_
