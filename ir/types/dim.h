// Dim: the extent of one dimension, a constant or an expression over symbols.
//
// A symbol is a number of the graph (or compiled graph) the dim belongs to; its
// name and bounds are kept there (Symbol). An expression is kept in a normal
// form, a polynomial with integer coefficients over symbols and the opaque
// operations floor_div, mod, max and min, so that equal polynomials are equal
// Dims: (N + 1) * 2 == 2 * N + 2.
//
// Dims are immutable values, cheap to copy, safe to share between threads.
//
// Arithmetic saturates nothing: what leaves int64, or grows past kMaxDimTerms
// terms or kMaxDimDepth nested operations, is an invalid dim, and so is
// everything computed from one; shape inference reports it.
#ifndef ENCORE_IR_TYPES_DIM_H_
#define ENCORE_IR_TYPES_DIM_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace encore {

inline constexpr int kMaxDimTerms = 64;
inline constexpr int kMaxDimDepth = 16;

// A named unknown size. Values lie in [lower, upper], both inclusive.
struct Symbol {
  std::string name;
  int64_t lower = 0;
  int64_t upper = INT64_MAX;
  // Known only when a node has run (the number of nonzero elements, say), not
  // when the inputs are bound.
  bool at_run_time = false;

  bool operator==(const Symbol&) const = default;
};

class Dim {
 public:
  enum class Op : uint8_t { kSymbol, kFloorDiv, kMod, kMax, kMin };
  struct Factor;
  struct Term;

  // Zero.
  Dim() = default;
  // NOLINTNEXTLINE: a constant is a dim.
  Dim(int64_t constant) : constant_(constant) {}
  static Dim OfSymbol(uint32_t symbol);
  static Dim Invalid();

  bool valid() const { return !invalid_; }
  bool is_constant() const { return terms_ == nullptr && !invalid_; }
  // REQUIRES is_constant().
  int64_t constant() const;
  // The symbol this dim is, where it is one and nothing else.
  std::optional<uint32_t> symbol() const;

  // The sum of these terms and constant_term() is the dim; canonical order.
  std::span<const Term> terms() const;
  int64_t constant_term() const { return constant_; }

  // The value under `symbols[i]` for symbol i. Nothing where a symbol has no
  // value, a divisor is not positive, or the value leaves int64.
  std::optional<int64_t> Evaluate(std::span<const int64_t> symbols) const;

  // The dim with `replacements[i]` in place of symbol i; symbols past the end
  // stay.
  Dim Substitute(std::span<const Dim> replacements) const;

  // Bounds of the value, from the symbols' bounds; conservative. Sizes past
  // int64 give INT64_MIN or INT64_MAX.
  int64_t LowerBound(std::span<const Symbol> symbols) const;
  int64_t UpperBound(std::span<const Symbol> symbols) const;

  // One past the largest symbol used; 0 where there is none.
  uint32_t SymbolLimit() const;

  // "2*N + 1", "floor_div(N + 1, 2)"; symbols without a name print as
  // s<number>.
  std::string ToString(std::span<const Symbol> symbols = {}) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Division and remainder round toward minus infinity; a divisor that can be
  // anything but positive when evaluated yields no value.
  friend Dim FloorDiv(const Dim& a, const Dim& b);
  friend Dim Mod(const Dim& a, const Dim& b);
  friend Dim Max(const Dim& a, const Dim& b);
  friend Dim Min(const Dim& a, const Dim& b);

  friend bool operator==(const Dim& a, const Dim& b);
  // A total order without meaning, for canonical forms.
  friend std::strong_ordering Compare(const Dim& a, const Dim& b);

  template <typename H>
  friend H AbslHashValue(H state, const Dim& dim) {
    return H::combine(std::move(state), dim.Fingerprint());
  }
  // A hash that is the same in every process.
  uint64_t Fingerprint() const;

 private:
  static Dim FromTerms(int64_t constant, std::vector<Term> terms);
  static Dim OfOperation(Op op, const Dim& a, const Dim& b);
  int Depth() const;

  int64_t constant_ = 0;
  bool invalid_ = false;
  std::shared_ptr<const std::vector<Term>> terms_;
};

// A symbol, or an operation on two dims.
struct Dim::Factor {
  Op op = Op::kSymbol;
  uint32_t symbol = 0;
  // The operands, where `op` is not kSymbol.
  std::shared_ptr<const Dim> a, b;
};

// coefficient * product of factors; factors in canonical order, at least one.
struct Dim::Term {
  int64_t coefficient = 1;
  std::vector<Factor> factors;
};

inline std::ostream& operator<<(std::ostream& out, const Dim& dim) {
  return out << dim.ToString();
}

}  // namespace encore

#endif  // ENCORE_IR_TYPES_DIM_H_
