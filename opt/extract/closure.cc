#include "encore/opt/extract/closure.h"

#include <algorithm>

namespace encore::opt::extract {
namespace {

constexpr uint64_t kMaxBits = uint64_t{1} << 30;

}  // namespace

void Closures::Unite(std::span<const ClassIndex> classes,
                     std::vector<uint64_t>* out) const {
  out->assign(words_, 0);
  for (const ClassIndex c : classes) {
    const auto from = row(c);
    for (size_t w = 0; w < words_; ++w) (*out)[w] |= from[w];
  }
}

std::optional<Closures> Closures::Compute(const Problem& problem,
                                          const ProblemIndex& index,
                                          uint64_t max_words) {
  const uint32_t n = problem.num_classes();
  if (uint64_t{n} * n > kMaxBits) return std::nullopt;
  Closures out(n);
  // Rounds over the classes whose value may have changed. A class not yet
  // visited needs "everything", which is neutral in the intersection.
  std::vector<uint8_t> visited(n, false), dirty(n, true);
  std::vector<uint64_t> all(out.words_), any;
  uint64_t spent = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassIndex c = 0; c < n; ++c) {
      if (!dirty[c]) continue;
      dirty[c] = false;
      std::fill(all.begin(), all.end(), ~uint64_t{0});
      bool known = false;
      for (NodeIndex node = problem.class_start[c];
           node < problem.class_start[c + 1]; ++node) {
        const auto children = problem.children(node);
        if (!std::all_of(children.begin(), children.end(),
                         [&](ClassIndex d) { return visited[d]; })) {
          continue;
        }
        known = true;
        out.Unite(children, &any);
        for (size_t w = 0; w < out.words_; ++w) all[w] &= any[w];
        spent += (children.size() + 2) * out.words_;
      }
      if (spent > max_words) return std::nullopt;
      if (!known) continue;
      all[c / 64] |= uint64_t{1} << (c % 64);
      uint64_t* const mine = out.bits_.data() + size_t{c} * out.words_;
      if (visited[c] && std::equal(all.begin(), all.end(), mine)) continue;
      std::copy(all.begin(), all.end(), mine);
      visited[c] = true;
      for (const NodeIndex user : index.users(c)) {
        dirty[index.class_of(user)] = true;
      }
      changed = true;
    }
  }
  return out;
}

}  // namespace encore::opt::extract
