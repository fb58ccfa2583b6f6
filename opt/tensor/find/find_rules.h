// FindRules: identities that the rule book lacks, by enumeration.
//
// Pairs of expressions that are equal in exact arithmetic (expressions.h) are
// put into an e-graph, a batch in each, on which the book's rules run for five
// iterations. What they do not show to be equal is evaluated in f32 at other
// extents, and where the values agree within their error bounds
// (check/forward_error.h) it is missing: an identity for which a rule may be
// worth writing.
#ifndef ENCORE_OPT_TENSOR_FIND_FIND_RULES_H_
#define ENCORE_OPT_TENSOR_FIND_FIND_RULES_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/find/expressions.h"
#include "encore/opt/tensor/find/missing_rule.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

struct FoundRules {
  // All pairs; of two results, all programs that could share work.
  size_t expressions = 0, pairs = 0;
  size_t looked_at = 0;  // so far
  bool complete = false;
  // The smallest first, of these the largest gains, between what the rules make
  // of both sides; none is an instance of another (instances.h).
  std::vector<MissingRule> missing;
};

// Pairs that differ in what inputs are called, or of what shape these are, are
// one. `rules`: the book's, or some of them, which outlive the call; rules that
// are code are used beside them.
// `state`: a file that keeps what was found, every few seconds and at the end,
// and from which another call goes on; empty for none. `go_on`, which may be
// null, is asked before each batch, told how many pairs are done and how many
// there are. Deterministic but for where it stops. Errors: as of Enumerate;
// InvalidArgument where `state` is of another search, or no such file; those of
// writing it.
StatusOr<FoundRules> FindRules(
    const FindOptions& options, std::span<const TextRule> rules,
    const std::string& state = "",
    const std::function<bool(size_t done, size_t all)>& go_on = nullptr);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_FIND_RULES_H_
