// The payloads of a container's sections as lists of tokens: numbers and texts
// in the order in which they are written (cache/README.md has the formats).
#ifndef ENCORE_CACHE_TESTING_PAYLOAD_TOKENS_H_
#define ENCORE_CACHE_TESTING_PAYLOAD_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/store/container.h"

namespace encore::cache {

struct PayloadToken {
  enum class Kind : uint8_t { kByte, kVarint, kText };
  Kind kind = Kind::kByte;
  uint64_t number = 0;  // of kByte and kVarint
  std::string text;     // of kText; its length is written before it
};
using PayloadTokens = std::vector<PayloadToken>;

// The tokens of a section's payload, as far as it is of the section's format;
// none where the type has no such format.
PayloadTokens ReadTokens(SectionType type, std::string_view payload);
std::string WriteTokens(const PayloadTokens& tokens);

// Changes a number or a text, or removes, repeats or exchanges tokens.
// REQUIRES tokens.
void MutateTokens(PayloadTokens* tokens, size_t max_size, std::mt19937& random);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_PAYLOAD_TOKENS_H_
