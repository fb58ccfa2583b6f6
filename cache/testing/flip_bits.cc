#include "encore/cache/testing/flip_bits.h"

#include <fstream>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::cache {
namespace {

char Flipped(char byte, int64_t bit) {
  return static_cast<char>(byte ^ 1 << bit % 8);
}

}  // namespace

std::string WithFlippedBit(std::string bytes, size_t bit) {
  ENCORE_CHECK(bit / 8 < bytes.size()) << "bit " << bit;
  char& byte = bytes[bit / 8];
  byte = Flipped(byte, static_cast<int64_t>(bit));
  return bytes;
}

void FlipBitOfFile(const std::string& path, int64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(bit / 8);
  const char byte = static_cast<char>(file.get());
  ENCORE_CHECK(file.good()) << path << " has no bit " << bit;
  file.seekp(bit / 8);
  file.put(Flipped(byte, bit));
  file.close();
  ENCORE_CHECK(file.good()) << path;
}

}  // namespace encore::cache
