// Values and bytes as nobody sends them who means well, for tests of readers.
#ifndef ENCORE_IR_SUPPORT_TESTING_BYTE_MUTATIONS_H_
#define ENCORE_IR_SUPPORT_TESTING_BYTE_MUTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace encore {

// An integer near `value`, near a power of two, small, or any. The same for
// equal states of `random`, as all here.
uint64_t HostileInteger(uint64_t value, std::mt19937& random);

// Changes bits, bytes, words or variable-length integers, or inserts, removes,
// repeats or moves some bytes; at most `max_size` bytes are left.
void MutateBytes(std::string* bytes, size_t max_size, std::mt19937& random);

// The head of one and the tail of the other, at most `max_size` bytes of it.
std::string CrossBytes(const std::string& a, const std::string& b,
                       size_t max_size, std::mt19937& random);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_TESTING_BYTE_MUTATIONS_H_
