// Stencil: the canonical bytes of a graph, what is hashed and stored.
//
// Nodes stand in post-order from the ordered outputs, the signature in its
// order. Names, origins, the order in which nodes were made, nodes that no
// output needs, and parameters' data do not count; every op, attribute (floats
// by bits), dtype, shape, symbol bound and constant does. Equal stencils are
// the same computation; format in ir/README.md. The bytes of a graph as it is
// (StencilOrder::kAsIs) are for who wants that very graph back.
//
// Stencil numbers. Each node that counts has a number: arguments in the order
// of the signature, then nodes in the order of the bytes, those of a node's
// bodies before the node. Compiled graphs name origins by these numbers; the
// maps here lead back to the caller's graph and its names.
#ifndef ENCORE_IR_GRAPH_STENCIL_H_
#define ENCORE_IR_GRAPH_STENCIL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore {

// Constants of more bytes than this are in the stencil as SHA-256 digests.
inline constexpr int64_t kMaxInlineConstant = 256;

// Which nodes stand in the bytes, and in which order.
enum class StencilOrder : uint8_t {
  // Those that outputs need, in post-order; symbols by first use. What this
  // header says of stencils holds for it.
  kCanonical,
  // All, in the graph's order behind its arguments; all symbols by number. So
  // equal bytes are graphs that everything that goes by the order of nodes
  // treats alike. Read only by who says that it is this order.
  kAsIs,
};

struct Stencil {
  struct Place {
    const Graph* graph;  // the graph, or a body within it
    NodeId node;
  };

  std::string bytes;
  // The constants that `bytes` has as digests, each once, by first use.
  std::vector<Literal> constants;
  // Where each number's node is; valid as long as the graph does not change.
  std::vector<Place> places;
  // The other way round, by graph and node.
  std::unordered_map<const Graph*, std::vector<uint32_t>> numbers;
  // Set where the graph has no identity: a custom op without digest.
  std::optional<std::string> unkeyable;

  // The number of a node; nothing where it does not count.
  std::optional<uint32_t> NumberOf(const Graph& graph, NodeId node) const;
};

// Linear in the graph and the bytes of its constants.
Stencil MakeStencil(const Graph& graph,
                    StencilOrder order = StencilOrder::kCanonical);

// Constants whose digest is known, by the bytes that they share, dtype and
// dims.
using KnownDigests =
    std::map<std::tuple<const std::byte*, DType, std::vector<int64_t>>, Digest>;

// MakeStencil(graph, order).bytes, without hashing the constants that are
// `known`.
std::string StencilBytes(const Graph& graph, const KnownDigests& known,
                         StencilOrder order = StencilOrder::kCanonical);

// SHA-256 over dtype, dims and bytes: what names a large constant.
Digest LiteralDigest(const Literal& literal);

// The graph of a stencil, in canonical form: arguments a0, a1, …, outputs o0,
// o1, …, symbols s0, s1, …, and the stencil number of each node as its origin,
// "#12". `constants` are those of Stencil::constants in any order. The stencil
// of the result is `bytes` again. InvalidArgument for anything that is no
// stencil; safe on any bytes.
StatusOr<Graph> ReadStencil(std::string_view bytes,
                            std::span<const Literal> constants);

// Names in place of the canonical ones; where a list is too short the canonical
// ones stay. Inputs, parameters and outputs in the order of the signature,
// origins by stencil number.
struct StencilNames {
  std::span<const std::string> inputs, parameters, outputs, origins;
};
// As above; InvalidArgument too where two arguments or two outputs have one
// name.
StatusOr<Graph> ReadStencil(std::string_view bytes,
                            std::span<const Literal> constants,
                            const StencilNames& names,
                            StencilOrder order = StencilOrder::kCanonical);

// "#12", and back; nothing where `origin` is not of that form.
std::string StencilOrigin(uint32_t number);
std::optional<uint32_t> StencilNumber(std::string_view origin);

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_STENCIL_H_
