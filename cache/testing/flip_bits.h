// Damage to stored bytes, for tests: one bit that is another.
#ifndef ENCORE_CACHE_TESTING_FLIP_BITS_H_
#define ENCORE_CACHE_TESTING_FLIP_BITS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace encore::cache {

// Bit i % 8 of byte i / 8. REQUIRES that there is one.
std::string WithFlippedBit(std::string bytes, size_t bit);

// The same of a file, in place. Ends the program where it cannot be written.
void FlipBitOfFile(const std::string& path, int64_t bit);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_FLIP_BITS_H_
