#include "encore/ir/types/dim.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

using Term = Dim::Term;
using Factor = Dim::Factor;
using Op = Dim::Op;

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

std::strong_ordering CompareFactors(const Factor& a, const Factor& b) {
  if (a.op != b.op) return a.op <=> b.op;
  if (a.op == Op::kSymbol) return a.symbol <=> b.symbol;
  if (const auto order = Compare(*a.a, *b.a); order != 0) return order;
  return Compare(*a.b, *b.b);
}

std::strong_ordering CompareProducts(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size()) {
    return a.factors.size() <=> b.factors.size();
  }
  for (size_t i = 0; i < a.factors.size(); ++i) {
    const auto order = CompareFactors(a.factors[i], b.factors[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

bool FactorBefore(const Factor& a, const Factor& b) {
  return CompareFactors(a, b) < 0;
}

std::optional<int64_t> Apply(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kFloorDiv:
      if (b <= 0) return std::nullopt;
      return FloorDivide(a, b);
    case Op::kMod:
      if (b <= 0) return std::nullopt;
      // No product: floor(a / b) * b may lie below INT64_MIN.
      return a % b < 0 ? a % b + b : a % b;
    case Op::kMax:
      return std::max(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kSymbol:
      break;
  }
  return std::nullopt;
}

// A closed interval; INT64_MIN and INT64_MAX stand for "unbounded".
struct Interval {
  int64_t lower, upper;
};

int64_t Saturate(__int128 value) {
  if (value < INT64_MIN) return INT64_MIN;
  if (value > INT64_MAX) return INT64_MAX;
  return static_cast<int64_t>(value);
}

Interval Add(Interval a, Interval b) {
  const auto add = [](int64_t x, int64_t y, int64_t infinity) {
    if (x == infinity || y == infinity) return infinity;
    return Saturate(static_cast<__int128>(x) + y);
  };
  return {add(a.lower, b.lower, INT64_MIN), add(a.upper, b.upper, INT64_MAX)};
}

Interval Multiply(Interval a, Interval b) {
  const int64_t ends[] = {Saturate(static_cast<__int128>(a.lower) * b.lower),
                          Saturate(static_cast<__int128>(a.lower) * b.upper),
                          Saturate(static_cast<__int128>(a.upper) * b.lower),
                          Saturate(static_cast<__int128>(a.upper) * b.upper)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Interval BoundsOf(const Dim& dim, std::span<const Symbol> symbols);

Interval BoundsOf(const Factor& factor, std::span<const Symbol> symbols) {
  if (factor.op == Op::kSymbol) {
    if (factor.symbol >= symbols.size()) return {INT64_MIN, INT64_MAX};
    return {symbols[factor.symbol].lower, symbols[factor.symbol].upper};
  }
  const Interval a = BoundsOf(*factor.a, symbols);
  Interval b = BoundsOf(*factor.b, symbols);
  switch (factor.op) {
    case Op::kMax:
      return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    case Op::kMin:
      return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    case Op::kMod:
      return {0, b.upper == INT64_MAX ? INT64_MAX
                                      : std::max<int64_t>(b.upper - 1, 0)};
    default: {
      b.lower = std::max<int64_t>(b.lower, 1);
      b.upper = std::max(b.upper, b.lower);
      const auto low = [&](int64_t d) {
        return a.lower == INT64_MIN ? INT64_MIN : FloorDivide(a.lower, d);
      };
      const auto high = [&](int64_t d) {
        return a.upper == INT64_MAX ? INT64_MAX : FloorDivide(a.upper, d);
      };
      return {std::min(low(b.lower), low(b.upper)),
              std::max(high(b.lower), high(b.upper))};
    }
  }
}

Interval BoundsOf(const Dim& dim, std::span<const Symbol> symbols) {
  if (!dim.valid()) return {INT64_MIN, INT64_MAX};
  Interval sum = {dim.constant_term(), dim.constant_term()};
  for (const Term& term : dim.terms()) {
    Interval product = {term.coefficient, term.coefficient};
    for (const Factor& factor : term.factors) {
      product = Multiply(product, BoundsOf(factor, symbols));
    }
    sum = Add(sum, product);
  }
  return sum;
}

std::string_view OpName(Op op) {
  switch (op) {
    case Op::kFloorDiv:
      return "floor_div";
    case Op::kMod:
      return "mod";
    case Op::kMax:
      return "max";
    case Op::kMin:
      return "min";
    case Op::kSymbol:
      break;
  }
  return "";
}

std::string FactorText(const Factor& factor, std::span<const Symbol> symbols) {
  if (factor.op != Op::kSymbol) {
    return StrCat(OpName(factor.op), "(", factor.a->ToString(symbols), ", ",
                  factor.b->ToString(symbols), ")");
  }
  if (factor.symbol < symbols.size()) return symbols[factor.symbol].name;
  return StrCat("s", factor.symbol);
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

}  // namespace

Dim Dim::OfSymbol(uint32_t symbol) {
  return FromTerms(0,
                   {Term{1, {Factor{Op::kSymbol, symbol, nullptr, nullptr}}}});
}

Dim Dim::Invalid() {
  Dim dim;
  dim.invalid_ = true;
  return dim;
}

int64_t Dim::constant() const {
  ENCORE_CHECK(is_constant()) << ToString();
  return constant_;
}

std::optional<uint32_t> Dim::symbol() const {
  if (terms_ == nullptr || constant_ != 0 || terms_->size() != 1) return {};
  const Term& term = terms_->front();
  if (term.coefficient != 1 || term.factors.size() != 1) return {};
  if (term.factors[0].op != Op::kSymbol) return {};
  return term.factors[0].symbol;
}

std::span<const Dim::Term> Dim::terms() const {
  return terms_ ? std::span<const Term>(*terms_) : std::span<const Term>();
}

Dim Dim::FromTerms(int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return CompareProducts(a, b) < 0;
  });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (!merged.empty() && CompareProducts(merged.back(), term) == 0) {
      const auto sum = CheckedAdd(merged.back().coefficient, term.coefficient);
      if (!sum) return Invalid();
      merged.back().coefficient = *sum;
      if (*sum == 0) merged.pop_back();
    } else if (term.coefficient != 0) {
      merged.push_back(std::move(term));
    }
  }
  if (merged.size() > kMaxDimTerms) return Invalid();
  Dim dim(constant);
  if (!merged.empty()) {
    dim.terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
  }
  return dim;
}

Dim Dim::OfOperation(Op op, const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Invalid();
  if (a.is_constant() && b.is_constant()) {
    const auto value = Apply(op, a.constant_, b.constant_);
    return value ? Dim(*value) : Invalid();
  }
  if (std::max(a.Depth(), b.Depth()) >= kMaxDimDepth) return Invalid();
  Factor factor{op, 0, std::make_shared<const Dim>(a),
                std::make_shared<const Dim>(b)};
  return FromTerms(0, {Term{1, {std::move(factor)}}});
}

int Dim::Depth() const {
  int depth = 0;
  for (const Term& term : terms()) {
    for (const Factor& factor : term.factors) {
      if (factor.op == Op::kSymbol) continue;
      depth =
          std::max(depth, 1 + std::max(factor.a->Depth(), factor.b->Depth()));
    }
  }
  return depth;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Dim::Invalid();
  const auto constant = CheckedAdd(a.constant_, b.constant_);
  if (!constant) return Dim::Invalid();
  if (!a.terms_ && !b.terms_) return Dim(*constant);
  std::vector<Term> terms(a.terms().begin(), a.terms().end());
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Dim::FromTerms(*constant, std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Dim::Invalid();
  const auto constant = CheckedMul(a.constant_, b.constant_);
  if (!constant) return Dim::Invalid();
  if (!a.terms_ && !b.terms_) return Dim(*constant);
  std::vector<Term> terms;
  const auto add = [&terms](const Term& x, const Term& y) {
    const auto coefficient = CheckedMul(x.coefficient, y.coefficient);
    if (!coefficient) return false;
    Term term{*coefficient, x.factors};
    term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
    if (term.factors.size() > kMaxDimTerms) return false;
    std::sort(term.factors.begin(), term.factors.end(), FactorBefore);
    terms.push_back(std::move(term));
    return true;
  };
  const Term a_constant{a.constant_, {}}, b_constant{b.constant_, {}};
  for (const Term& x : a.terms()) {
    if (!add(x, b_constant)) return Dim::Invalid();
    for (const Term& y : b.terms()) {
      if (!add(x, y)) return Dim::Invalid();
    }
  }
  for (const Term& y : b.terms()) {
    if (!add(a_constant, y)) return Dim::Invalid();
  }
  return Dim::FromTerms(*constant, std::move(terms));
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant() == 1) return a;
  // A constant divisor that divides every coefficient divides exactly.
  if (b.is_constant() && b.constant() > 0 && a.valid()) {
    std::vector<Term> quotient(a.terms().begin(), a.terms().end());
    bool exact = true;
    for (Term& term : quotient) {
      exact = exact && term.coefficient % b.constant() == 0;
      term.coefficient /= b.constant();
    }
    if (exact) {
      return Dim::FromTerms(FloorDivide(a.constant_, b.constant()),
                            std::move(quotient));
    }
  }
  return Dim::OfOperation(Op::kFloorDiv, a, b);
}

Dim Mod(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant() == 1 && a.valid()) return Dim(0);
  return Dim::OfOperation(Op::kMod, a, b);
}

Dim Max(const Dim& a, const Dim& b) {
  if (a == b) return a;
  return Compare(a, b) < 0 ? Dim::OfOperation(Op::kMax, a, b)
                           : Dim::OfOperation(Op::kMax, b, a);
}

Dim Min(const Dim& a, const Dim& b) {
  if (a == b) return a;
  return Compare(a, b) < 0 ? Dim::OfOperation(Op::kMin, a, b)
                           : Dim::OfOperation(Op::kMin, b, a);
}

std::strong_ordering Compare(const Dim& a, const Dim& b) {
  if (a.invalid_ != b.invalid_) return a.invalid_ <=> b.invalid_;
  if (a.constant_ != b.constant_) return a.constant_ <=> b.constant_;
  const auto x = a.terms(), y = b.terms();
  if (x.size() != y.size()) return x.size() <=> y.size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].coefficient != y[i].coefficient) {
      return x[i].coefficient <=> y[i].coefficient;
    }
    if (const auto order = CompareProducts(x[i], y[i]); order != 0)
      return order;
  }
  return std::strong_ordering::equal;
}

bool operator==(const Dim& a, const Dim& b) { return Compare(a, b) == 0; }

std::optional<int64_t> Dim::Evaluate(std::span<const int64_t> symbols) const {
  if (invalid_) return std::nullopt;
  std::optional<int64_t> sum = constant_;
  for (const Term& term : terms()) {
    std::optional<int64_t> product = term.coefficient;
    for (const Factor& factor : term.factors) {
      std::optional<int64_t> value;
      if (factor.op == Op::kSymbol) {
        if (factor.symbol < symbols.size()) value = symbols[factor.symbol];
      } else {
        const auto a = factor.a->Evaluate(symbols);
        const auto b = factor.b->Evaluate(symbols);
        if (a && b) value = Apply(factor.op, *a, *b);
      }
      if (!value) return std::nullopt;
      product = CheckedMul(*product, *value);
      if (!product) return std::nullopt;
    }
    sum = CheckedAdd(*sum, *product);
    if (!sum) return std::nullopt;
  }
  return sum;
}

Dim Dim::Substitute(std::span<const Dim> replacements) const {
  if (invalid_ || !terms_) return *this;
  Dim sum(constant_);
  for (const Term& term : terms()) {
    Dim product(term.coefficient);
    for (const Factor& factor : term.factors) {
      if (factor.op == Op::kSymbol) {
        product = product * (factor.symbol < replacements.size()
                                 ? replacements[factor.symbol]
                                 : OfSymbol(factor.symbol));
        continue;
      }
      const Dim a = factor.a->Substitute(replacements);
      const Dim b = factor.b->Substitute(replacements);
      switch (factor.op) {
        case Op::kFloorDiv:
          product = product * FloorDiv(a, b);
          break;
        case Op::kMod:
          product = product * Mod(a, b);
          break;
        case Op::kMax:
          product = product * Max(a, b);
          break;
        default:
          product = product * Min(a, b);
          break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

int64_t Dim::LowerBound(std::span<const Symbol> symbols) const {
  return BoundsOf(*this, symbols).lower;
}

int64_t Dim::UpperBound(std::span<const Symbol> symbols) const {
  return BoundsOf(*this, symbols).upper;
}

uint32_t Dim::SymbolLimit() const {
  uint32_t limit = 0;
  for (const Term& term : terms()) {
    for (const Factor& factor : term.factors) {
      if (factor.op == Op::kSymbol) {
        limit = std::max(limit, factor.symbol + 1);
      } else {
        limit =
            std::max({limit, factor.a->SymbolLimit(), factor.b->SymbolLimit()});
      }
    }
  }
  return limit;
}

std::string Dim::ToString(std::span<const Symbol> symbols) const {
  if (invalid_) return "invalid";
  if (!terms_) return StrCat(constant_);
  std::string out;
  for (const Term& term : terms()) {
    const bool negative = term.coefficient < 0;
    if (!out.empty()) {
      out += negative ? " - " : " + ";
    } else if (negative) {
      out += "-";
    }
    const uint64_t magnitude = negative
                                   ? 0 - static_cast<uint64_t>(term.coefficient)
                                   : static_cast<uint64_t>(term.coefficient);
    if (magnitude != 1) StrAppend(&out, magnitude, "*");
    out +=
        StrJoin(term.factors, "*", [&](std::string* to, const Factor& factor) {
          to->append(FactorText(factor, symbols));
        });
  }
  if (constant_ > 0) StrAppend(&out, " + ", constant_);
  if (constant_ < 0)
    StrAppend(&out, " - ", 0 - static_cast<uint64_t>(constant_));
  return out;
}

uint64_t Dim::Fingerprint() const {
  uint64_t hash = Mix(invalid_, static_cast<uint64_t>(constant_));
  for (const Term& term : terms()) {
    hash = Mix(hash, static_cast<uint64_t>(term.coefficient));
    for (const Factor& factor : term.factors) {
      hash = Mix(hash, static_cast<uint64_t>(factor.op) << 32 | factor.symbol);
      if (factor.op == Op::kSymbol) continue;
      hash = Mix(hash, factor.a->Fingerprint());
      hash = Mix(hash, factor.b->Fingerprint());
    }
  }
  return hash;
}

}  // namespace encore
