// simplify.h for sequences and optionals whose structure is known: where one is
// made of its tensors, what is taken out of it is one of them, and no host
// object is left.
#ifndef ENCORE_IR_BUILD_SIMPLIFY_HOST_H_
#define ENCORE_IR_BUILD_SIMPLIFY_HOST_H_

#include <cstdint>
#include <optional>
#include <span>

#include "encore/ir/build/simplify.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/types/shape.h"

namespace encore {

// A sequence that grows past this is no longer followed.
inline constexpr size_t kMaxKnownElements = 256;

// The elements of a sequence that a `sequence` node makes, at most
// kMaxKnownElements.
std::optional<std::span<const ValueId>> KnownElements(const Graph& graph,
                                                      ValueId sequence);

// The place of index `index` (negative: from the end) in [0, limit), of a
// sequence of `length`.
std::optional<int64_t> PlaceOf(int64_t index, int64_t length, int64_t limit);

// One rewrite of a node of trait kNonFlatValues, as SimplifyNode.
Simplified SimplifyHostNode(const Graph& graph, const PendingNode& node,
                            const TensorType& type);

}  // namespace encore

#endif  // ENCORE_IR_BUILD_SIMPLIFY_HOST_H_
