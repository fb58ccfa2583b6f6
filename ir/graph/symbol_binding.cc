#include "encore/ir/graph/symbol_binding.h"

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// What the symbol of c * symbol + d is where the whole is `value`; nothing for
// other dims, and where c does not divide.
std::optional<std::pair<uint32_t, int64_t>> Solve(const Dim& dim,
                                                  int64_t value) {
  if (dim.terms().size() != 1) return std::nullopt;
  const Dim::Term& term = dim.terms()[0];
  if (term.factors.size() != 1 || term.factors[0].op != Dim::Op::kSymbol) {
    return std::nullopt;
  }
  int64_t rest;
  if (__builtin_sub_overflow(value, dim.constant_term(), &rest) ||
      term.coefficient == 0 || rest % term.coefficient != 0) {
    return std::nullopt;
  }
  return std::pair(term.factors[0].symbol, rest / term.coefficient);
}

}  // namespace

SymbolBinding::SymbolBinding(std::span<const Symbol> symbols)
    : symbols_(symbols), values_(symbols.size()) {
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    replacements_.push_back(Dim::OfSymbol(i));
  }
}

Status SymbolBinding::BindSymbol(uint32_t symbol, int64_t value) {
  const Symbol& entry = symbols_[symbol];
  if (values_[symbol] && *values_[symbol] != value) {
    return InvalidArgumentError(StrCat("symbol ", entry.name, " is both ",
                                       *values_[symbol], " and ", value));
  }
  if (value < entry.lower || value > entry.upper) {
    return InvalidArgumentError(StrCat("symbol ", entry.name, " is ", value,
                                       ", expected a value in [", entry.lower,
                                       ", ", entry.upper, "]"));
  }
  values_[symbol] = value;
  replacements_[symbol] = value;
  return OkStatus();
}

Status SymbolBinding::Bind(std::string_view what, const Shape& shape,
                           std::span<const int64_t> dims) {
  const auto mismatch = [&] {
    return InvalidArgumentError(StrCat(what, " has the extents [",
                                       StrJoin(dims, ","), "], expected ",
                                       shape.ToString(symbols_)));
  };
  if (shape.rank() != static_cast<int>(dims.size())) return mismatch();
  for (int i = 0; i < shape.rank(); ++i) {
    const Dim dim = shape[i].Substitute(replacements_);
    if (dim.is_constant()) {
      if (dim.constant() != dims[i]) return mismatch();
    } else if (const auto solution = Solve(dim, dims[i])) {
      const Status bound = BindSymbol(solution->first, solution->second);
      if (!bound.ok()) return Annotate(bound, what);
    } else if (dim.terms().size() == 1 && dim.symbol()) {
      return mismatch();
    }
  }
  return OkStatus();
}

}  // namespace encore
