#include "encore/cache/package/parameter_blobs.h"

#include <memory>

namespace encore::cache {

StatusOr<std::vector<runtime::Blob>> BlobsOf(
    std::span<const Literal> parameters) {
  std::vector<runtime::Blob> blobs;
  for (const Literal& literal : parameters) {
    if (IsString(literal.dtype())) {
      return InvalidArgumentError("a parameter of strings");
    }
    blobs.push_back(
        {literal.bytes(), std::make_shared<Literal>(literal), false});
  }
  return blobs;
}

}  // namespace encore::cache
