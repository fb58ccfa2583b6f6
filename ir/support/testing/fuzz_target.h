// Between what libFuzzer calls and functions of strings.
//
// A fuzz target defines LLVMFuzzerTestOneInput; one that knows its format
// defines LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver too.
#ifndef ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_
#define ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

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

#endif  // ENCORE_IR_SUPPORT_TESTING_FUZZ_TARGET_H_
