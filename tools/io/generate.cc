#include "encore/tools/io/generate.h"

#include <unistd.h>

#include <optional>
#include <random>
#include <string>

#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::tools {
namespace {

// Generated integers stay below this, so that they are indices into most
// tables.
constexpr int64_t kMaxGenerated = 100;

bool FitsMemory(DType dtype, const std::vector<int64_t>& dims) {
  const int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  const std::optional<int64_t> count = ElementCount(dims);
  if (!count) return false;
  if (IsString(dtype)) {
    return *count <= memory / static_cast<int64_t>(sizeof(std::string));
  }
  const std::optional<int64_t> bytes = ByteSize(dtype, *count);
  return bytes && *bytes <= memory;
}

}  // namespace

StatusOr<Literal> Generate(DType dtype, const std::vector<int64_t>& dims,
                           uint64_t seed) {
  if (!FitsMemory(dtype, dims)) {
    return ResourceExhaustedError(StrCat("a tensor of type ", Name(dtype), "[",
                                         StrJoin(dims, ","),
                                         "] is larger than the memory"));
  }
  Literal literal(dtype, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < literal.element_count() && !IsString(dtype); ++i) {
    const uint64_t bits = random();
    if (IsFloat(dtype)) {
      // 53 bits as a fraction.
      literal.SetDouble(i, static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    } else if (dtype == DType::kBool) {
      literal.SetInt(i, static_cast<int64_t>(bits & 1));
    } else {
      literal.SetInt(i, static_cast<int64_t>(bits % kMaxGenerated));
    }
  }
  return literal;
}

}  // namespace encore::tools
