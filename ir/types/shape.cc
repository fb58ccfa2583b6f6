#include "encore/ir/types/shape.h"

#include "encore/ir/support/strings.h"

namespace encore {

bool Shape::is_constant() const {
  for (const Dim& dim : dims_) {
    if (!dim.is_constant()) return false;
  }
  return true;
}

std::vector<int64_t> Shape::ConstantDims() const {
  std::vector<int64_t> dims;
  dims.reserve(dims_.size());
  for (const Dim& dim : dims_) dims.push_back(dim.constant());
  return dims;
}

std::optional<std::vector<int64_t>> Shape::Evaluate(
    std::span<const int64_t> symbols) const {
  std::vector<int64_t> dims;
  dims.reserve(dims_.size());
  for (const Dim& dim : dims_) {
    const auto value = dim.Evaluate(symbols);
    if (!value || *value < 0) return std::nullopt;
    dims.push_back(*value);
  }
  return dims;
}

Shape Shape::Substitute(std::span<const Dim> replacements) const {
  Shape result = *this;
  for (Dim& dim : result.dims_) dim = dim.Substitute(replacements);
  return result;
}

Dim Shape::ElementCount() const {
  Dim product = 1;
  for (const Dim& dim : dims_) product = product * dim;
  return product;
}

std::string Shape::ToString(std::span<const Symbol> symbols) const {
  return "[" +
         StrJoin(dims_, ",",
                 [&](std::string* out, const Dim& dim) {
                   out->append(dim.ToString(symbols));
                 }) +
         "]";
}

std::optional<int64_t> ElementCount(std::span<const int64_t> dims) {
  int64_t product = 1;
  bool overflow = false, empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
    overflow |= __builtin_mul_overflow(product, dim, &product);
  }
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return product;
}

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  // Unsigned: beside an extent of 0 the others may be anything.
  uint64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[i]);
  }
  return strides;
}

std::string TensorType::ToString(std::span<const Symbol> symbols) const {
  switch (kind) {
    case ValueKind::kTensor:
      break;
    case ValueKind::kSequence:
      return StrCat("sequence<", Name(dtype), ">");
    case ValueKind::kOptional:
      return StrCat("optional<", Name(dtype), ">");
    case ValueKind::kOptionalSequence:
      return StrCat("optional<sequence<", Name(dtype), ">>");
  }
  return StrCat(Name(dtype), shape.ToString(symbols));
}

}  // namespace encore
