#include "encore/ir/types/dtype.h"

#include <array>
#include <limits>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int bits;
  DTypeKind kind;
};

constexpr Row kRows[] = {
#define ENCORE_DTYPE(Enumerator, name, bits, kind, Storage) \
  {DType::k##Enumerator, name, bits, DTypeKind::kind},
#include "encore/ir/types/dtypes.def"
#undef ENCORE_DTYPE
};

const Row& RowOf(DType dtype) {
  ENCORE_CHECK(IsValidDType(static_cast<uint8_t>(dtype)));
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

std::span<const DType> AllDTypes() {
  static constexpr auto kAll = [] {
    std::array<DType, std::size(kRows)> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].dtype;
    return all;
  }();
  return kAll;
}

std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

DTypeKind Kind(DType dtype) { return RowOf(dtype).kind; }

int BitWidth(DType dtype) { return RowOf(dtype).bits; }

std::optional<int64_t> ByteSize(DType dtype, int64_t count) {
  const int bits = BitWidth(dtype);
  ENCORE_CHECK(count >= 0 && bits > 0);
  if (bits < 8) {
    const int64_t each = 8 / bits;
    return count / each + (count % each != 0);
  }
  const int64_t bytes = bits / 8;
  if (count > std::numeric_limits<int64_t>::max() / bytes) return std::nullopt;
  return count * bytes;
}

bool IsValidDType(uint8_t value) { return value < std::size(kRows); }

}  // namespace encore
