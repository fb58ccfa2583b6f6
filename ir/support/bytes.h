// Compact bytes for canonical forms and metadata: variable-length integers,
// length-prefixed strings, fixed-width words in little-endian order.
//
// ByteReader is safe on any bytes: a read past the end, or of a malformed
// value, makes it fail once and for all; reads then give zeros. Counts that
// announce elements are checked with Count, which knows how many could be left.
#ifndef ENCORE_IR_SUPPORT_BYTES_H_
#define ENCORE_IR_SUPPORT_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace encore {

class ByteWriter {
 public:
  void Byte(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  // LEB128: seven bits a byte, the lowest first.
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<uint8_t>(value) | 0x80);
    Byte(static_cast<uint8_t>(value));
  }
  // Signed as (value << 1) ^ (value >> 63), so that small magnitudes are short.
  void Signed(int64_t value) {
    Varint(static_cast<uint64_t>(value) << 1 ^
           static_cast<uint64_t>(value >> 63));
  }
  void Fixed64(uint64_t value) {
    for (int i = 0; i < 8; ++i) Byte(static_cast<uint8_t>(value >> 8 * i));
  }
  void Raw(std::string_view bytes) { out_.append(bytes); }
  void Raw(std::span<const std::byte> bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void String(std::string_view text) {
    Varint(text.size());
    Raw(text);
  }

  const std::string& str() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes)
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }

  uint8_t Byte() {
    if (rest_.empty()) {
      Fail();
      return 0;
    }
    const auto value = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      // The tenth byte has one bit to give; a last byte of 0 is superfluous.
      if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0)) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  int64_t Signed() {
    const uint64_t value = Varint();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  uint64_t Fixed64() {
    const std::string_view bytes = Raw(8);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << 8 * i;
    }
    return value;
  }
  // How many elements follow, each of at least `least` bytes.
  size_t Count(size_t least = 1) {
    const uint64_t count = Varint();
    if (count > rest_.size() / least) {
      Fail();
      return 0;
    }
    return static_cast<size_t>(count);
  }
  std::string_view Raw(size_t size) {
    if (size > rest_.size()) {
      Fail();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view String() { return Raw(Count()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_BYTES_H_
