// Graphs of attention, and arguments that kernels for it go wrong on.
#ifndef ENCORE_BACKENDS_CONFORMANCE_ATTENTION_GRAPH_H_
#define ENCORE_BACKENDS_CONFORMANCE_ATTENTION_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

// softmax(scale * Q K^T + mask) V of [batch, heads, length, width].
struct AttentionGraph {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 2, depth = 1,
          columns = 2;
  std::string mask = "";        // dims, where there is one
  std::string attributes = "";  // besides the scale
  std::string dtype = "f32";

  std::string ToText() const;
  // The same in primitives. REQUIRES that there is such a graph.
  std::string ToPrimitives() const;
};

// So many of drawn sizes, with up to `most_queries` queries: without a mask,
// with one of the keys and with one of the scores in turn, every other one
// causal.
std::vector<AttentionGraph> DrawnAttentions(int count, int64_t most_queries);

// With what is before and behind it in models: heads side by side in memory, a
// bias of the keys, a select, a residual. In primitives.
inline constexpr std::string_view kAttentionAsItLies = R"(
graph g(%q: f32[2,9,3,16], %k: f32[2,20,3,16], %v: f32[2,20,3,16], %seen: bool[9,20], %r: f32[2,9,3,16]) -> f32[2,9,3,16] {
  %qt = transpose(%q) {permutation = [0,2,1,3]}
  %kt = transpose(%k) {permutation = [0,2,3,1]}
  %vt = transpose(%v) {permutation = [0,2,1,3]}
  %s = dot_general(%qt, %kt) {contract = [3]x[2], batch = [0,1]x[0,1]}
  %c = constant() {value = f32[] 0.25}
  %cb = broadcast(%c) {shape = [2,3,9,20], axes = []}
  %t = mul(%s, %cb)
  %n = constant() {value = f32[] -3.0e38}
  %nb = broadcast(%n) {shape = [2,3,9,20], axes = []}
  %sb = broadcast(%seen) {shape = [2,3,9,20], axes = [2,3]}
  %u = select(%sb, %t, %nb)
  %m = reduce(%u) {axes = [3], combiner = max}
  %mb = broadcast(%m) {shape = [2,3,9,20], axes = [0,1,2]}
  %d = sub(%u, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [3]}
  %lb = broadcast(%l) {shape = [2,3,9,20], axes = [0,1,2]}
  %p = div(%e, %lb)
  %o = dot_general(%p, %vt) {contract = [3]x[2], batch = [0,1]x[0,1]}
  %ot = transpose(%o) {permutation = [0,2,1,3]}
  %y = add(%ot, %r)
  return %y
})";

// A mask [1,1,8,keys], the fourth argument, row by row: no key, one, all behind
// the first, all before the last, some. The other arguments are drawn.
std::vector<Literal> ArgumentsWithHiddenKeys(const Graph& graph, int64_t keys);

// Of an attention of 5 queries and 300 keys, whose mask, the fourth argument,
// has infinities and a NaN in three of its rows.
std::vector<Literal> ArgumentsWithInfinities(const Graph& graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_ATTENTION_GRAPH_H_
