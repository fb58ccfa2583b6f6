#include "encore/ir/support/testing/byte_mutations.h"

#include <algorithm>

#include "encore/ir/support/bytes.h"

namespace encore {
namespace {

// A place in `bytes`, or behind its end.
size_t PlaceIn(const std::string& bytes, std::mt19937& random) {
  return random() % (bytes.size() + 1);
}

// How many bytes from `at` on: few, mostly.
size_t LengthAt(const std::string& bytes, size_t at, std::mt19937& random) {
  const size_t most = random() % 4 == 0 ? bytes.size() : 8;
  return std::min<size_t>(random() % (most + 1), bytes.size() - at);
}

// Puts a word of 1, 2, 4 or 8 bytes over what is there.
void OverwriteWord(std::string* bytes, size_t at, std::mt19937& random) {
  const size_t size =
      std::min<size_t>(size_t{1} << random() % 4, bytes->size() - at);
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>((*bytes)[at + i]))
             << 8 * i;
  }
  value = HostileInteger(value, random);
  for (size_t i = 0; i < size; ++i) {
    (*bytes)[at + i] = static_cast<char>(value >> 8 * i);
  }
}

// Puts another variable-length integer in the place of the one at `at`.
void ReplaceVarint(std::string* bytes, size_t at, std::mt19937& random) {
  ByteReader in(std::string_view(*bytes).substr(at));
  const uint64_t value = in.Varint();
  const size_t length = in.ok() ? bytes->size() - at - in.remaining() : 1;
  ByteWriter out;
  out.Varint(HostileInteger(value, random));
  bytes->replace(at, length, out.str());
}

void MoveRange(std::string* bytes, size_t at, size_t length,
               std::mt19937& random) {
  const std::string range = bytes->substr(at, length);
  if (random() % 2 == 0) bytes->erase(at, length);
  bytes->insert(PlaceIn(*bytes, random), range);
}

}  // namespace

uint64_t HostileInteger(uint64_t value, std::mt19937& random) {
  const uint64_t power = uint64_t{1} << random() % 64;
  switch (random() % 9) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value ^ power;
    case 3:
      return power;
    case 4:
      return power - 1;
    case 5:
      return 0 - power;
    case 6:
      return random() % 16;
    case 7:
      return value * 2;
    default:
      return static_cast<uint64_t>(random()) << 32 | random();
  }
}

void MutateBytes(std::string* bytes, size_t max_size, std::mt19937& random) {
  const size_t at = PlaceIn(*bytes, random);
  if (at == bytes->size()) {
    bytes->push_back(static_cast<char>(random()));
  } else {
    const size_t length = LengthAt(*bytes, at, random);
    switch (random() % 7) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << random() % 8);
        break;
      case 1:
        OverwriteWord(bytes, at, random);
        break;
      case 2:
        ReplaceVarint(bytes, at, random);
        break;
      case 3:
        bytes->erase(at, length);
        break;
      case 4:
        bytes->insert(at, length, static_cast<char>(random()));
        break;
      case 5:
        MoveRange(bytes, at, length, random);
        break;
      default:
        (*bytes)[at] = static_cast<char>(random());
    }
  }
  if (bytes->size() > max_size) bytes->resize(max_size);
}

std::string CrossBytes(const std::string& a, const std::string& b,
                       size_t max_size, std::mt19937& random) {
  std::string both =
      a.substr(0, PlaceIn(a, random)) + b.substr(PlaceIn(b, random));
  if (both.size() > max_size) both.resize(max_size);
  return both;
}

}  // namespace encore
