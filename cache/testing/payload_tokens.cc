#include "encore/cache/testing/payload_tokens.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/ir/types/dtype.h"

namespace encore::cache {
namespace {

using Kind = PayloadToken::Kind;

// Tokens beyond these are not looked for.
constexpr size_t kMostTokens = 4096;

// Reads tokens as long as there are any.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view payload) : in_(payload) {}

  PayloadTokens Take() { return std::move(tokens_); }

  uint64_t Byte() { return Add(Kind::kByte, in_.Byte(), {}); }
  uint64_t Varint() { return Add(Kind::kVarint, in_.Varint(), {}); }
  void Text() { Add(Kind::kText, 0, in_.String()); }

  // A count and that many items.
  template <typename Item>
  void List(const Item& item) {
    for (uint64_t left = Varint(); left > 0 && More(); --left) item();
  }
  void Texts() {
    List([this] { Text(); });
  }
  // The number of host objects that this is in is bounded as in a package.
  void Tensor(int depth = 0) {
    const auto type = static_cast<uint8_t>(Byte());
    if (type >> 6 != 0) {
      if (depth < 3) List([&] { Tensor(depth + 1); });
      return;
    }
    uint64_t count = 1;
    List([&] { count *= Varint(); });
    if (!IsValidDType(type) || !IsString(static_cast<DType>(type))) return;
    for (; count > 0 && More(); --count) Text();
  }
  void Tensors() {
    List([this] { Tensor(); });
  }

 private:
  bool More() const { return in_.ok() && tokens_.size() < kMostTokens; }
  uint64_t Add(Kind kind, uint64_t number, std::string_view text) {
    if (More()) tokens_.push_back({kind, number, std::string(text)});
    return number;
  }

  ByteReader in_;
  PayloadTokens tokens_;
};

}  // namespace

PayloadTokens ReadTokens(SectionType type, std::string_view payload) {
  Tokenizer in(payload);
  switch (type) {
    case SectionType::kHeadline:
      in.List([&] { in.Text(), in.Text(); });
      in.Text();  // the stencil
      break;
    case SectionType::kNames:
      for (int list = 0; list < 4; ++list) in.Texts();
      break;
    case SectionType::kConstants:
      for (int list = 0; list < 2; ++list) in.Tensors();
      break;
    case SectionType::kCalls:
      in.List([&] { in.Tensors(), in.Tensors(); });
      break;
    case SectionType::kMeasurements:
      in.List([&] {
        in.Text();
        if (in.Byte() == 1) in.Text();
      });
      break;
    default:
      break;
  }
  return in.Take();
}

std::string WriteTokens(const PayloadTokens& tokens) {
  ByteWriter out;
  for (const PayloadToken& token : tokens) {
    switch (token.kind) {
      case Kind::kByte:
        out.Byte(static_cast<uint8_t>(token.number));
        break;
      case Kind::kVarint:
        out.Varint(token.number);
        break;
      case Kind::kText:
        out.String(token.text);
    }
  }
  return out.Take();
}

void MutateTokens(PayloadTokens* tokens, size_t max_size,
                  std::mt19937& random) {
  const size_t at = random() % tokens->size();
  PayloadToken& token = (*tokens)[at];
  const PayloadToken& other = (*tokens)[random() % tokens->size()];
  switch (random() % 6) {
    case 0:
      tokens->erase(tokens->begin() + at);
      break;
    case 1:
      if (tokens->size() < kMostTokens) {
        tokens->insert(tokens->begin() + at, PayloadToken(other));
      }
      break;
    case 2:
      token = PayloadToken(other);
      break;
    default:
      if (token.kind == Kind::kText) {
        MutateBytes(&token.text, max_size, random);
      } else {
        token.number = HostileInteger(token.number, random);
      }
  }
}

}  // namespace encore::cache
