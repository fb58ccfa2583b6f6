// Between what libFuzzer calls and functions of strings.
//
// A fuzz target defines LLVMFuzzerTestOneInput; one that knows its format
// defines LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver too, which
// ENCORE_FUZZ_MUTATORS does.
#ifndef ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_
#define ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "encore/ir/support/testing/byte_mutations.h"

namespace encore {

inline std::string FuzzBytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Writes what `make(random)` gives to `out`, cut to `max_size`; its size.
template <typename Make>
size_t RunMutator(uint8_t* out, size_t max_size, unsigned int seed,
                  const Make& make) {
  std::mt19937 random(seed);
  const std::string made = make(random);
  const size_t size = std::min(made.size(), max_size);
  std::copy_n(made.begin(), size, out);
  return size;
}

}  // namespace encore

// Mutants by `mutate(bytes, max_size, random)`, of which one in sixteen is
// changed as bytes, whatever the format, and crosses of two by
// `cross(a, b, max_size, random)`; both give a string.
#define ENCORE_FUZZ_MUTATORS(mutate, cross)                                    \
  extern "C" size_t LLVMFuzzerCustomMutator(                                   \
      uint8_t* data, size_t size, size_t max_size, unsigned int seed) {        \
    return encore::RunMutator(                                                 \
        data, max_size, seed, [&](std::mt19937& random) {                      \
          std::string bytes = encore::FuzzBytes(data, size);                   \
          if (random() % 16 != 0) return mutate(bytes, max_size, random);      \
          encore::MutateBytes(&bytes, max_size, random);                       \
          return bytes;                                                        \
        });                                                                    \
  }                                                                            \
  extern "C" size_t LLVMFuzzerCustomCrossOver(                                 \
      const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,        \
      uint8_t* out, size_t max_size, unsigned int seed) {                      \
    return encore::RunMutator(out, max_size, seed, [&](std::mt19937& random) { \
      return cross(encore::FuzzBytes(a, a_size), encore::FuzzBytes(b, b_size), \
                   max_size, random);                                          \
    });                                                                        \
  }

#endif  // ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_
