// What libFuzzer calls to mutate the containers of a fuzz target.
#include <cstddef>
#include <cstdint>
#include <random>

#include "encore/cache/testing/container_mutator.h"
#include "encore/ir/support/testing/fuzz_target.h"

using encore::FuzzBytes;

// Memory that nobody has is refused, as without AddressSanitizer; what asks for
// it and does not take no for an answer is found all the same.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {  // NOLINT: its name
  return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  return encore::RunMutator(data, max_size, seed, [&](std::mt19937& random) {
    return encore::cache::MutateContainer(FuzzBytes(data, size), max_size,
                                          random);
  });
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size,
                                            const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t max_size,
                                            unsigned int seed) {
  return encore::RunMutator(out, max_size, seed, [&](std::mt19937& random) {
    return encore::cache::CrossContainers(
        FuzzBytes(a, a_size), FuzzBytes(b, b_size), max_size, random);
  });
}
