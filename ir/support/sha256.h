// SHA-256 (FIPS 180-4): the identity of bytes in keys and digests.
#ifndef ENCORE_IR_SUPPORT_SHA256_H_
#define ENCORE_IR_SUPPORT_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace encore {

struct Digest {
  std::array<uint8_t, 32> bytes = {};

  // 64 digits, lower case.
  std::string ToHex() const;
  static std::optional<Digest> FromHex(std::string_view hex);
  std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::byte> ToBytes() const {
    const auto all = std::as_bytes(std::span(bytes));
    return {all.begin(), all.end()};
  }
  auto operator<=>(const Digest&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const Digest& digest) {
    return H::combine(std::move(state), digest.bytes);
  }
};

// Hashes a message given in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view piece);
  void Update(std::span<const std::byte> piece);
  // The digest of everything so far; REQUIRES that it is called once, last.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest Sha256Of(std::string_view message);
Digest Sha256Of(std::span<const std::byte> message);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_SHA256_H_
