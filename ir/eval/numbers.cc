#include "encore/ir/eval/numbers.h"

#include "encore/ir/support/check.h"
#include "encore/ir/types/float_formats.h"

namespace encore::eval {
namespace {

template <typename Storage, typename W>
void Widen(const Literal& literal, int64_t begin, int64_t count, W* out) {
  const Storage* from = literal.values<Storage>().data() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<W>(from[i]);
}

template <typename Storage, typename W>
void Narrow(const W* values, int64_t begin, int64_t count, Literal* out) {
  Storage* to = out->mutable_values<Storage>().data() + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Storage>(values[i]);
}

template <typename Storage>
void DecodeBits(const Literal& literal, int64_t begin, int64_t count,
                double* out) {
  const Storage* from = literal.values<Storage>().data() + begin;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = DecodeFloat(literal.dtype(), from[i]);
  }
}

template <typename Storage>
void EncodeBits(const double* values, int64_t begin, int64_t count,
                Literal* out) {
  Storage* to = out->mutable_values<Storage>().data() + begin;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Storage>(EncodeFloat(out->dtype(), values[i]));
  }
}

}  // namespace

template <>
void Decode(const Literal& literal, int64_t begin, int64_t count, double* out) {
  switch (BitWidth(literal.dtype())) {
    case 64:
      return Widen<double>(literal, begin, count, out);
    case 32:
      return Widen<float>(literal, begin, count, out);
    case 16:
      return DecodeBits<uint16_t>(literal, begin, count, out);
    case 8:
      return DecodeBits<uint8_t>(literal, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) out[i] = literal.AsDouble(begin + i);
  }
}

template <>
void Encode(const double* values, int64_t begin, int64_t count, Literal* out) {
  switch (BitWidth(out->dtype())) {
    case 64:
      return Narrow<double>(values, begin, count, out);
    case 32:
      return Narrow<float>(values, begin, count, out);
    case 16:
      return EncodeBits<uint16_t>(values, begin, count, out);
    case 8:
      return EncodeBits<uint8_t>(values, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) out->SetDouble(begin + i, values[i]);
  }
}

template <>
void Decode(const Literal& literal, int64_t begin, int64_t count,
            int64_t* out) {
  switch (literal.dtype()) {
    case DType::kI64:
      return Widen<int64_t>(literal, begin, count, out);
    case DType::kI32:
      return Widen<int32_t>(literal, begin, count, out);
    case DType::kI16:
      return Widen<int16_t>(literal, begin, count, out);
    case DType::kI8:
      return Widen<int8_t>(literal, begin, count, out);
    case DType::kBool:
      return Widen<bool>(literal, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) out[i] = literal.AsInt(begin + i);
  }
}

template <>
void Encode(const int64_t* values, int64_t begin, int64_t count, Literal* out) {
  switch (out->dtype()) {
    case DType::kI64:
      return Narrow<int64_t>(values, begin, count, out);
    case DType::kI32:
      return Narrow<int32_t>(values, begin, count, out);
    case DType::kI16:
      return Narrow<int16_t>(values, begin, count, out);
    case DType::kI8:
      return Narrow<int8_t>(values, begin, count, out);
    case DType::kBool:
      return Narrow<bool>(values, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) out->SetInt(begin + i, values[i]);
  }
}

template <>
void Decode(const Literal& literal, int64_t begin, int64_t count,
            uint64_t* out) {
  switch (literal.dtype()) {
    case DType::kU64:
      return Widen<uint64_t>(literal, begin, count, out);
    case DType::kU32:
      return Widen<uint32_t>(literal, begin, count, out);
    case DType::kU16:
      return Widen<uint16_t>(literal, begin, count, out);
    case DType::kU8:
      return Widen<uint8_t>(literal, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<uint64_t>(literal.AsInt(begin + i));
      }
  }
}

template <>
void Encode(const uint64_t* values, int64_t begin, int64_t count,
            Literal* out) {
  switch (out->dtype()) {
    case DType::kU64:
      return Narrow<uint64_t>(values, begin, count, out);
    case DType::kU32:
      return Narrow<uint32_t>(values, begin, count, out);
    case DType::kU16:
      return Narrow<uint16_t>(values, begin, count, out);
    case DType::kU8:
      return Narrow<uint8_t>(values, begin, count, out);
    default:
      for (int64_t i = 0; i < count; ++i) {
        out->SetInt(begin + i, static_cast<int64_t>(values[i]));
      }
  }
}

template <typename W>
W Combine(Combiner combiner, W a, W b) {
  switch (combiner) {
    case Combiner::kSum:
      return WrapAdd(a, b);
    case Combiner::kProduct:
      return WrapMul(a, b);
    case Combiner::kMax:
      return Larger(a, b);
    case Combiner::kMin:
      return Smaller(a, b);
    case Combiner::kAnd:
      if constexpr (!std::is_floating_point_v<W>) return a & b;
      break;
    case Combiner::kOr:
      if constexpr (!std::is_floating_point_v<W>) return a | b;
      break;
  }
  ENCORE_CHECK(false) << "inference lets no such combiner through";
  return a;
}

template double Combine(Combiner, double, double);
template int64_t Combine(Combiner, int64_t, int64_t);
template uint64_t Combine(Combiner, uint64_t, uint64_t);

template <>
double Identity(Combiner combiner, DType dtype) {
  if (combiner == Combiner::kProduct) return 1;
  if (combiner == Combiner::kSum) return 0;
  return combiner == Combiner::kMax ? -UpperLimit(dtype) : UpperLimit(dtype);
}

template <>
int64_t Identity(Combiner combiner, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  const int shift = is_bool ? 63 : 64 - BitWidth(dtype);
  switch (combiner) {
    case Combiner::kProduct:
      return 1;
    case Combiner::kMax:
      return is_bool ? 0 : INT64_MIN >> shift;
    case Combiner::kMin:
      return is_bool ? 1 : INT64_MAX >> shift;
    case Combiner::kAnd:
      return is_bool ? 1 : -1;
    default:
      return 0;
  }
}

template <>
uint64_t Identity(Combiner combiner, DType dtype) {
  switch (combiner) {
    case Combiner::kProduct:
      return 1;
    case Combiner::kMin:
    case Combiner::kAnd:
      return UINT64_MAX >> (64 - BitWidth(dtype));
    default:
      return 0;
  }
}

}  // namespace encore::eval
