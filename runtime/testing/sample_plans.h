// Plans for tests that want some of every kind.
#ifndef ENCORE_RUNTIME_TESTING_SAMPLE_PLANS_H_
#define ENCORE_RUNTIME_TESTING_SAMPLE_PLANS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// A graph with something in every field; VerifyPlan refuses it. Its last two
// blobs are one of 12 bytes and an empty one.
CompiledGraph PlanWithEverything();

// A sound plan, with memory, that has every kind of step and slot; of test
// kernels and sizes up to 16 elements. The same for equal seeds.
CompiledGraph RandomPlan(uint32_t seed);

using Random = std::mt19937;

// One element of a list that is not empty.
template <typename T>
T& Pick(std::vector<T>& list, Random& random) {
  return list[random() % list.size()];
}

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_SAMPLE_PLANS_H_
