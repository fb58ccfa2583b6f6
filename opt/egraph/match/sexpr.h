// S-expressions, parsed without recursion into one flat list.
#ifndef ENCORE_OPT_EGRAPH_MATCH_SEXPR_H_
#define ENCORE_OPT_EGRAPH_MATCH_SEXPR_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::egraph {

// A list "(head child...)" or an atom. Children precede their parents, so that
// one pass over `exprs` by index evaluates bottom-up.
struct SExprs {
  struct Expr {
    bool is_list;
    std::string_view text;  // the atom, quotes included; for a list its head
    std::vector<uint32_t> children;  // without the head
  };
  std::vector<Expr> exprs;      // the text must outlive them
  std::vector<uint32_t> roots;  // those in no other, in order
};

// InvalidArgument on unbalanced parentheses, an open string, or a list whose
// head is no atom. ";" starts a comment. Any depth.
StatusOr<SExprs> ParseSExprs(std::string_view text);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_SEXPR_H_
