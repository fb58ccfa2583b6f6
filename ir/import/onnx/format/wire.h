// Wire: reads one protocol-buffer message field by field, without copying.
//
//   Wire wire(bytes);
//   while (wire.Next()) {
//     switch (wire.field()) {
//       case fields::ValueInfo::kName:
//         wire.Get(&name); break; …
//     }
//   }
//   return wire.status();
//
// A field that is not taken is skipped. The first error (a length that leaves
// the message, a broken varint, a value of another wire type) ends the loop and
// stays in status(), with the byte at which its field begins, counted from the
// start of the outermost message. Generated parsers copy every bytes field,
// which for a model means copying its weights; that is why there is a reader of
// our own here.
//
// Source: https://protobuf.dev/programming-guides/encoding
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::onnx {

class Wire {
 public:
  explicit Wire(std::string_view bytes) : Wire(bytes, bytes.data()) {}

  // Moves to the next field; false at the end and after an error.
  bool Next();
  int field() const { return field_; }  // 0 before the first
  // Whether the field is a message, a string or packed numbers.
  bool is_bytes() const { return type_ == kBytes; }
  // OK, or InvalidArgument with the first error.
  const Status& status() const { return status_; }

  // The field's value; the one before stays where the wire type is another,
  // which is an error.
  void Get(std::string_view* value);
  // The same of a field that the format calls a string: an error where it is no
  // UTF-8.
  void GetText(std::string_view* value);
  void Get(float* value);
  void Get(double* value);
  template <typename T>
    requires std::is_integral_v<T>
  void Get(T* value) {
    if (Expect(kVarint)) *value = static_cast<T>(scalar_);
  }

  // The field as a message; empty after an error.
  Wire Message();

  // Appends a repeated field's value or, where it is packed, its values.
  void Append(std::vector<std::string_view>* values);
  void AppendText(std::vector<std::string_view>* values);
  template <typename T>
    requires std::is_integral_v<T>
  void Append(std::vector<T>* values) {
    if (type_ != kBytes) {
      if (Expect(kVarint)) values->push_back(static_cast<T>(scalar_));
      return;
    }
    std::string_view packed = bytes_;
    while (!packed.empty()) {
      uint64_t value;
      if (!TakeVarint(&packed, &value)) return Fail("an invalid packed field");
      values->push_back(static_cast<T>(value));
    }
  }
  template <typename T>
    requires std::is_floating_point_v<T>
  void Append(std::vector<T>* values) {
    if (type_ != kBytes) {
      T value{};
      Get(&value);
      values->push_back(value);
      return;
    }
    if (bytes_.size() % sizeof(T) != 0) return Fail("an invalid packed field");
    const size_t before = values->size();
    values->resize(before + bytes_.size() / sizeof(T));
    if (!bytes_.empty()) {
      std::memcpy(values->data() + before, bytes_.data(), bytes_.size());
    }
  }

 private:
  // A message within one that begins at `origin`.
  Wire(std::string_view bytes, const char* origin)
      : rest_(bytes), origin_(origin), begin_(bytes.data()) {}

  enum Type : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  static bool TakeVarint(std::string_view* from, uint64_t* value);
  bool TakeFixed(int size);
  bool Expect(Type type);
  void Fail(std::string_view message);

  std::string_view rest_;
  const char* origin_;  // where the outermost message begins
  const char* begin_;   // where the current field does
  int field_ = 0;
  int type_ = kVarint;
  // The current value: a varint or fixed number, or bytes.
  uint64_t scalar_ = 0;
  std::string_view bytes_;
  Status status_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_H_
