#include "encore/opt/egraph/explain/term_store.h"

namespace encore::egraph {

TermStore::Id TermStore::Make(Term term) {
  const auto [it, inserted] = ids_.try_emplace(term, terms_.size());
  if (inserted) terms_.push_back(std::move(term));
  return it->second;
}

}  // namespace encore::egraph
