#include "encore/ir/import/onnx/format/wire.h"

#include <bit>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/utf8.h"

namespace encore::onnx {

bool Wire::TakeVarint(std::string_view* from, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (from->empty()) return false;
    const auto byte = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool Wire::TakeFixed(int size) {
  if (rest_.size() < static_cast<size_t>(size)) return false;
  scalar_ = 0;
  std::memcpy(&scalar_, rest_.data(), size);
  rest_.remove_prefix(size);
  return true;
}

void Wire::Fail(std::string_view message) {
  if (!status_.ok()) return;
  status_ = InvalidArgumentError(
      StrCat(field_ > 0 ? StrCat("field ", field_, ": ") : "", message,
             " (byte ", begin_ - origin_, ")"));
  rest_ = {};
}

bool Wire::Expect(Type type) {
  if (type_ == type) return status_.ok();
  Fail(StrCat("wire type ", type_, ", expected ", static_cast<int>(type)));
  return false;
}

bool Wire::Next() {
  if (rest_.empty() || !status_.ok()) return false;
  begin_ = rest_.data();
  field_ = 0;
  uint64_t tag;
  if (!TakeVarint(&rest_, &tag) || tag >> 3 == 0 || tag >> 32 != 0) {
    Fail("an invalid field tag: this is not an ONNX model, or it is damaged");
    return false;
  }
  field_ = static_cast<int>(tag >> 3);
  type_ = static_cast<int>(tag & 7);
  bytes_ = {};
  bool complete = false;
  switch (type_) {
    case kVarint:
      complete = TakeVarint(&rest_, &scalar_);
      break;
    case kFixed64:
      complete = TakeFixed(8);
      break;
    case kFixed32:
      complete = TakeFixed(4);
      break;
    case kBytes: {
      uint64_t size;
      complete = TakeVarint(&rest_, &size) && size <= rest_.size();
      if (complete) {
        bytes_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
      }
      break;
    }
    default:
      Fail(StrCat("unknown wire type ", type_));
      return false;
  }
  if (!complete) Fail("reaches past the end of its message");
  return complete;
}

void Wire::Get(std::string_view* value) {
  if (Expect(kBytes)) *value = bytes_;
}

void Wire::GetText(std::string_view* value) {
  if (!Expect(kBytes)) return;
  if (!IsUtf8(bytes_)) return Fail("a string that is no UTF-8");
  *value = bytes_;
}

void Wire::Get(float* value) {
  if (Expect(kFixed32))
    *value = std::bit_cast<float>(static_cast<uint32_t>(scalar_));
}

void Wire::Get(double* value) {
  if (Expect(kFixed64)) *value = std::bit_cast<double>(scalar_);
}

Wire Wire::Message() {
  return Wire(Expect(kBytes) ? bytes_ : std::string_view(), origin_);
}

void Wire::Append(std::vector<std::string_view>* values) {
  if (Expect(kBytes)) values->push_back(bytes_);
}

void Wire::AppendText(std::vector<std::string_view>* values) {
  std::string_view text;
  GetText(&text);
  values->push_back(text);
}

}  // namespace encore::onnx
