#include "encore/ir/types/literal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"

namespace encore {
namespace {

// Enough for the widest vector loads.
constexpr std::align_val_t kAlignment{64};

struct AlignedDelete {
  void operator()(std::byte* bytes) const {
    operator delete[](bytes, kAlignment);
  }
};

template <typename T>
T Load(const std::byte* data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* data, int64_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

// The value of the bits of an integer dtype of less than a byte.
int64_t PackedInteger(DType dtype, uint8_t bits) {
  const int sign = IsSigned(dtype) ? 1 << (BitWidth(dtype) - 1) : 0;
  return (bits ^ sign) - sign;
}

// Toward zero; what does not fit is the nearest bound, NaN is 0.
template <typename Int>
Int Truncated(double value) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  // As a double the largest value is rounded up, out of range.
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<Int>(value);
}

}  // namespace

Literal::Literal() : Literal(DType::kF32, {}) {}

Literal::Literal(DType dtype, std::vector<int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)) {
  const auto count = ElementCount(dims_);
  ENCORE_CHECK(count.has_value()) << "literal of invalid size";
  element_count_ = *count;
  if (IsString(dtype)) {
    strings_ = std::make_shared<std::vector<std::string>>(element_count_);
    return;
  }
  const auto size = ByteSize(dtype, element_count_);
  ENCORE_CHECK(size.has_value()) << "literal of invalid size";
  size_ = static_cast<size_t>(*size);
  auto* bytes = static_cast<std::byte*>(operator new[](
      std::max<size_t>(size_, 1), kAlignment));
  std::memset(bytes, 0, size_);
  owner_ = std::shared_ptr<std::byte>(bytes, AlignedDelete());
  data_ = mutable_data_ = bytes;
}

StatusOr<Literal> Literal::Map(DType dtype, std::vector<int64_t> dims,
                               std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner) {
  const auto count = ElementCount(dims);
  if (!count || IsString(dtype)) {
    return InvalidArgumentError(StrCat("no tensor bytes of type ", Name(dtype),
                                       "[", StrJoin(dims, ","), "]"));
  }
  const auto size = ByteSize(dtype, *count);
  if (!size || static_cast<uint64_t>(*size) != bytes.size()) {
    return InvalidArgumentError(StrCat(
        "a tensor of type ", Name(dtype), "[", StrJoin(dims, ","), "] has ",
        size ? StrCat(*size) : "too many", " bytes, not ", bytes.size()));
  }
  Literal literal;
  literal.dtype_ = dtype;
  literal.dims_ = std::move(dims);
  literal.element_count_ = *count;
  literal.data_ = bytes.data();
  literal.size_ = bytes.size();
  literal.owner_ = std::move(owner);
  literal.mutable_data_ = nullptr;
  return literal;
}

StatusOr<Literal> Literal::Copy(DType dtype, std::vector<int64_t> dims,
                                std::span<const std::byte> bytes) {
  StatusOr<Literal> view = Map(dtype, std::move(dims), bytes, nullptr);
  if (!view.ok()) return view;
  Literal copy(dtype, view->dims_);
  if (!bytes.empty())
    std::memcpy(copy.mutable_data_, bytes.data(), bytes.size());
  return copy;
}

Literal Literal::Strings(std::vector<int64_t> dims,
                         std::vector<std::string> values) {
  Literal literal(DType::kString, std::move(dims));
  ENCORE_CHECK_EQ(literal.element_count(), static_cast<int64_t>(values.size()));
  *literal.strings_ = std::move(values);
  return literal;
}

Literal Literal::Sequence(DType dtype, std::vector<Literal> elements) {
  Literal literal = Absent(dtype, ValueKind::kSequence);
  for (const Literal& element : elements) {
    ENCORE_CHECK(element.kind_ == ValueKind::kTensor && element.dtype_ == dtype)
        << "no sequence of " << element.type().ToString();
  }
  *literal.elements_ = std::move(elements);
  return literal;
}

Literal Literal::Optional(Literal value) {
  ENCORE_CHECK(!IsOptional(value.kind_)) << "an optional of an optional";
  Literal literal = Absent(value.dtype_, value.kind_ == ValueKind::kTensor
                                             ? ValueKind::kOptional
                                             : ValueKind::kOptionalSequence);
  literal.elements_->push_back(std::move(value));
  return literal;
}

Literal Literal::Absent(DType dtype, ValueKind kind) {
  ENCORE_CHECK(kind != ValueKind::kTensor);
  Literal literal(dtype, {0});
  literal.dims_.clear();
  literal.kind_ = kind;
  literal.strings_.reset();
  literal.elements_ = std::make_shared<std::vector<Literal>>();
  return literal;
}

const std::vector<Literal>& Literal::elements() const {
  ENCORE_CHECK(elements_ != nullptr) << "a tensor has no list of elements";
  return *elements_;
}

std::vector<Literal> Literal::TakeElements() && {
  ENCORE_CHECK(elements_ != nullptr) << "a tensor has no list of elements";
  if (elements_.use_count() > 1) return *elements_;
  return std::move(*elements_);
}

std::span<const std::byte> Literal::bytes() const {
  ENCORE_CHECK(!IsString(dtype_) && kind_ == ValueKind::kTensor)
      << "a sequence or optional has no bytes";
  return {data_, size_};
}

std::span<std::byte> Literal::mutable_bytes() {
  ENCORE_CHECK(mutable_data_ != nullptr && owner_.use_count() == 1)
      << "the bytes of a literal are shared";
  return {mutable_data_, size_};
}

const std::vector<std::string>& Literal::strings() const {
  ENCORE_CHECK(strings_ != nullptr) << "not a string tensor";
  return *strings_;
}

std::vector<std::string>& Literal::mutable_strings() {
  ENCORE_CHECK(strings_ != nullptr && strings_.use_count() == 1)
      << "the strings of a literal are shared";
  return *strings_;
}

void Literal::CheckAccess(size_t size, size_t alignment) const {
  ENCORE_CHECK(BitWidth(dtype_) == static_cast<int>(size * 8) ||
               (IsPacked(dtype_) && size == 1))
      << Name(dtype_) << " elements are not of " << size << " bytes";
  ENCORE_CHECK_EQ(reinterpret_cast<uintptr_t>(data_) % alignment, 0u)
      << "unaligned literal";
}

double Literal::AsDouble(int64_t i) const {
  switch (dtype_) {
    case DType::kF64:
      return Load<double>(data_, i);
    case DType::kF32:
      return Load<float>(data_, i);
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(data_, i));
    default:
      break;
  }
  if (!IsFloat(dtype_)) return static_cast<double>(AsInt(i));
  if (IsPacked(dtype_)) {
    return DecodeFloat(dtype_, LoadPacked(dtype_, data_, i));
  }
  return DecodeFloat(dtype_, BitWidth(dtype_) == 8 ? Load<uint8_t>(data_, i)
                                                   : Load<uint16_t>(data_, i));
}

int64_t Literal::AsInt(int64_t i) const {
  switch (dtype_) {
    case DType::kBool:
      return Load<uint8_t>(data_, i) != 0;
    case DType::kI8:
      return Load<int8_t>(data_, i);
    case DType::kU8:
      return Load<uint8_t>(data_, i);
    case DType::kI16:
      return Load<int16_t>(data_, i);
    case DType::kU16:
      return Load<uint16_t>(data_, i);
    case DType::kI32:
      return Load<int32_t>(data_, i);
    case DType::kU32:
      return Load<uint32_t>(data_, i);
    case DType::kI64:
      return Load<int64_t>(data_, i);
    case DType::kU64:
      return static_cast<int64_t>(Load<uint64_t>(data_, i));
    case DType::kString:
      ENCORE_CHECK(false) << "a string is not a number";
      return 0;
    default:
      break;
  }
  if (IsFloat(dtype_)) return Truncated<int64_t>(AsDouble(i));
  return PackedInteger(dtype_, LoadPacked(dtype_, data_, i));
}

void Literal::SetDouble(int64_t i, double value) {
  ENCORE_CHECK(mutable_data_ != nullptr);
  switch (dtype_) {
    case DType::kF64:
      return Store(mutable_data_, i, value);
    case DType::kF32:
      return Store(mutable_data_, i, static_cast<float>(value));
    case DType::kBool:
      return Store(mutable_data_, i, static_cast<uint8_t>(value != 0));
    case DType::kU64:
      return Store(mutable_data_, i, Truncated<uint64_t>(value));
    default:
      break;
  }
  if (!IsFloat(dtype_)) return SetInt(i, Truncated<int64_t>(value));
  const uint16_t bits = EncodeFloat(dtype_, value);
  if (BitWidth(dtype_) == 16) return Store(mutable_data_, i, bits);
  const auto byte = static_cast<uint8_t>(bits);
  if (IsPacked(dtype_)) return StorePacked(dtype_, mutable_data_, i, byte);
  Store(mutable_data_, i, byte);
}

void Literal::SetInt(int64_t i, int64_t value) {
  ENCORE_CHECK(mutable_data_ != nullptr);
  if (IsFloat(dtype_)) return SetDouble(i, static_cast<double>(value));
  if (dtype_ == DType::kBool) {
    return Store(mutable_data_, i, static_cast<uint8_t>(value != 0));
  }
  if (IsPacked(dtype_)) {
    return StorePacked(dtype_, mutable_data_, i, static_cast<uint8_t>(value));
  }
  // Two's complement, little-endian: the low bytes are the wrapped value.
  std::memcpy(mutable_data_ + i * (BitWidth(dtype_) / 8), &value,
              BitWidth(dtype_) / 8);
}

bool Literal::IsAligned() const {
  if (IsString(dtype_) || IsPacked(dtype_)) return true;
  if (kind_ == ValueKind::kTensor) {
    return reinterpret_cast<uintptr_t>(data_) % (BitWidth(dtype_) / 8) == 0;
  }
  return std::ranges::all_of(elements(), &Literal::IsAligned);
}

Literal Literal::Aligned() const {
  if (IsAligned()) return *this;
  if (kind_ != ValueKind::kTensor) {
    std::vector<Literal> aligned;
    for (const Literal& element : elements()) {
      aligned.push_back(element.Aligned());
    }
    return kind_ == ValueKind::kSequence ? Sequence(dtype_, std::move(aligned))
                                         : Optional(std::move(aligned.front()));
  }
  Literal copy(dtype_, dims_);
  std::memcpy(copy.mutable_data_, data_, size_);
  return copy;
}

Literal Literal::Reshaped(std::vector<int64_t> dims) const {
  ENCORE_CHECK(ElementCount(dims) == element_count_);
  Literal result = *this;
  result.dims_ = std::move(dims);
  return result;
}

std::byte Literal::UsedBitsOfLastByte() const {
  if (!IsPacked(dtype_) || element_count_ == 0) return std::byte{0xff};
  const PackedPlace behind = PlaceOfPacked(dtype_, element_count_);
  return behind.shift == 0 ? std::byte{0xff}
                           : std::byte((1 << behind.shift) - 1);
}

bool Literal::HasStrayBits() const {
  const std::byte used = UsedBitsOfLastByte();
  return used != std::byte{0xff} && (data_[size_ - 1] & ~used) != std::byte{0};
}

Literal Literal::Canonical() const {
  if (!HasStrayBits()) return *this;
  Literal copy(dtype_, dims_);
  std::memcpy(copy.mutable_data_, data_, size_);
  copy.mutable_data_[size_ - 1] &= UsedBitsOfLastByte();
  return copy;
}

bool operator==(const Literal& a, const Literal& b) {
  if (a.dtype_ != b.dtype_ || a.dims_ != b.dims_ || a.kind_ != b.kind_) {
    return false;
  }
  if (a.kind_ != ValueKind::kTensor) return *a.elements_ == *b.elements_;
  if (IsString(a.dtype_)) return *a.strings_ == *b.strings_;
  if (a.HasStrayBits() || b.HasStrayBits()) {
    return a.Canonical() == b.Canonical();
  }
  return a.data_ == b.data_ || a.size_ == 0 ||
         std::memcmp(a.data_, b.data_, a.size_) == 0;
}

uint64_t Literal::Fingerprint() const {
  if (HasStrayBits()) return Canonical().Fingerprint();
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  mix(static_cast<uint64_t>(dtype_));
  for (const int64_t dim : dims_) mix(static_cast<uint64_t>(dim));
  if (kind_ != ValueKind::kTensor) {
    mix(static_cast<uint64_t>(kind_));
    for (const Literal& element : *elements_) mix(element.Fingerprint());
    return hash;
  }
  if (IsString(dtype_)) {
    for (const std::string& text : *strings_) {
      mix(text.size());
      for (const char c : text) mix(static_cast<uint8_t>(c));
    }
    return hash;
  }
  size_t i = 0;
  for (; i + 8 <= size_; i += 8) mix(Load<uint64_t>(data_ + i, 0));
  for (; i < size_; ++i) mix(static_cast<uint64_t>(data_[i]));
  return hash;
}

}  // namespace encore
