// Parameters in the form that the runtime takes.
#ifndef ENCORE_CACHE_PACKAGE_PARAMETER_BLOBS_H_
#define ENCORE_CACHE_PACKAGE_PARAMETER_BLOBS_H_

#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// Blobs over the literals' bytes, which they keep alive. InvalidArgument for
// strings.
StatusOr<std::vector<runtime::Blob>> BlobsOf(
    std::span<const Literal> parameters);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_PACKAGE_PARAMETER_BLOBS_H_
