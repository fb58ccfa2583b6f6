#include "encore/ir/support/sha256.h"

// The EVP interface, which OpenSSL 3 wants instead, spends a millisecond on
// finding the algorithm: as much as a warm start may take for all of its keys.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace encore {

struct Sha256::State {
  SHA256_CTX context;
};

std::string Digest::ToHex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::optional<Digest> Digest::FromHex(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) return std::nullopt;
  const auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = value(hex[2 * i]), low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return digest;
}

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SHA256_Init(&state_->context);
}
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view piece) {
  SHA256_Update(&state_->context, piece.data(), piece.size());
}

void Sha256::Update(std::span<const std::byte> piece) {
  SHA256_Update(&state_->context, piece.data(), piece.size());
}

Digest Sha256::Finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), &state_->context);
  return digest;
}

Digest Sha256Of(std::string_view message) {
  Sha256 hash;
  hash.Update(message);
  return hash.Finish();
}

Digest Sha256Of(std::span<const std::byte> message) {
  Sha256 hash;
  hash.Update(message);
  return hash.Finish();
}

}  // namespace encore
