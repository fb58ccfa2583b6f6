#include "encore/opt/egraph/match/sexpr.h"

#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::egraph {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',';
}

// The end of the atom that starts at `begin`, or npos in an open string.
size_t AtomEnd(std::string_view text, size_t begin) {
  size_t i = begin;
  if (text[i] == '"') {
    for (++i; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\') ++i;
    }
    return i < text.size() ? i + 1 : std::string_view::npos;
  }
  while (i < text.size() && !IsSpace(text[i]) && text[i] != '(' &&
         text[i] != ')' && text[i] != ';' && text[i] != '"') {
    ++i;
  }
  return i;
}

}  // namespace

StatusOr<SExprs> ParseSExprs(std::string_view text) {
  SExprs result;
  std::vector<SExprs::Expr> open;
  const auto close = [&](SExprs::Expr expr) {
    const uint32_t id = result.exprs.size();
    result.exprs.push_back(std::move(expr));
    (open.empty() ? result.roots : open.back().children).push_back(id);
  };
  for (size_t i = 0; i < text.size();) {
    if (IsSpace(text[i])) {
      ++i;
    } else if (text[i] == ';') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (text[i] == '(') {
      open.push_back({true, {}, {}});
      ++i;
    } else if (text[i] == ')') {
      if (open.empty()) {
        return InvalidArgumentError(
            StrCat("unexpected ')' at character ", i + 1));
      }
      SExprs::Expr expr = std::move(open.back());
      open.pop_back();
      close(std::move(expr));
      ++i;
    } else {
      const size_t end = AtomEnd(text, i);
      if (end == std::string_view::npos) {
        return InvalidArgumentError(
            StrCat("string without end at character ", i + 1));
      }
      const std::string_view atom = text.substr(i, end - i);
      if (!open.empty() && open.back().text.empty()) {
        if (!open.back().children.empty()) {
          return InvalidArgumentError(
              StrCat("a list must begin with a name, at character ", i + 1));
        }
        open.back().text = atom;
      } else {
        close({false, atom, {}});
      }
      i = end;
    }
  }
  if (!open.empty()) return InvalidArgumentError("missing ')'");
  for (const SExprs::Expr& expr : result.exprs) {
    if (expr.is_list && expr.text.empty()) {
      return InvalidArgumentError("a list must begin with a name");
    }
  }
  return result;
}

}  // namespace encore::egraph
