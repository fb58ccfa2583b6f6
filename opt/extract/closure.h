// What a class cannot do without: the classes that occur in every derivation of
// it (the dominators of an and-or graph).
#ifndef ENCORE_OPT_EXTRACT_CLOSURE_H_
#define ENCORE_OPT_EXTRACT_CLOSURE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// The greatest solution of
//   needs(c) = {c} + intersection over nodes n of c of
//                    union over children d of n of needs(d)
// as one bit row per class. Any solution is sound: by induction over its height
// every derivation of c contains needs(c).
class Closures {
 public:
  // Nothing where it would take more than `max_words` word operations or a
  // gigabit of memory. Quick where the numbers of children are mostly below
  // those of their users.
  static std::optional<Closures> Compute(const Problem& problem,
                                         const ProblemIndex& index,
                                         uint64_t max_words);

  // Whether every derivation of c contains d.
  bool Needs(ClassIndex c, ClassIndex d) const {
    return row(c)[d / 64] >> (d % 64) & 1;
  }
  std::span<const uint64_t> row(ClassIndex c) const {
    return {bits_.data() + size_t{c} * words_, words_};
  }
  // What a derivation through one of `classes` each needs: the union.
  void Unite(std::span<const ClassIndex> classes,
             std::vector<uint64_t>* out) const;

 private:
  explicit Closures(uint32_t num_classes)
      : words_((size_t{num_classes} + 63) / 64),
        bits_(words_ * num_classes, ~uint64_t{0}) {}

  size_t words_;
  std::vector<uint64_t> bits_;
};

inline bool HasBit(std::span<const uint64_t> row, ClassIndex c) {
  return row[c / 64] >> (c % 64) & 1;
}

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_CLOSURE_H_
