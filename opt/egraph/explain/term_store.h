// TermStore: terms by number.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_TERM_STORE_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_TERM_STORE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::egraph {

// Terms with shared subterms; equal terms have equal ids, subterms have smaller
// ids than what they are in.
class TermStore {
 public:
  using Id = uint32_t;
  struct Term {
    OpId op;
    std::vector<uint32_t> args;  // Id, or Value in columns of literal sorts
    bool operator==(const Term&) const = default;
    template <typename H>
    friend H AbslHashValue(H state, const Term& term) {
      return H::combine(std::move(state), term.op, term.args);
    }
  };

  Id Make(Term term);
  const Term& term(Id id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }

 private:
  std::vector<Term> terms_;
  absl::flat_hash_map<Term, Id> ids_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_TERM_STORE_H_
