#include "encore/ir/types/literal_compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"

namespace encore {
namespace {

std::string ElementText(const Literal& literal, int64_t i) {
  if (IsString(literal.dtype())) return Quote(literal.strings()[i]);
  if (literal.dtype() == DType::kU64) {
    return StrCat(static_cast<uint64_t>(literal.AsInt(i)));
  }
  return IsFloat(literal.dtype()) ? StrCat(literal.AsDouble(i))
                                  : StrCat(literal.AsInt(i));
}

bool SameElement(const Literal& a, const Literal& b, int64_t i) {
  return IsString(a.dtype()) ? a.strings()[i] == b.strings()[i]
                             : a.AsInt(i) == b.AsInt(i);
}

class ValueComparison {
 public:
  explicit ValueComparison(const Tolerance& tolerance)
      : tolerance_(tolerance) {}

  LiteralDifference Take() { return std::move(difference_); }

  void Compare(const Literal& actual, const Literal& expected) {
    if (actual.type() != expected.type()) {
      return Fail("is ", actual.type(), ", expected ", expected.type());
    }
    if (expected.kind() != ValueKind::kTensor) {
      CompareElements(actual, expected);
    } else if (IsFloat(expected.dtype())) {
      CompareFloats(actual, expected);
    } else if (!(actual == expected)) {
      int64_t i = 0;
      while (SameElement(actual, expected, i)) ++i;
      FailAt(actual, expected, i);
    }
  }

 private:
  template <typename... Parts>
  void Fail(const Parts&... parts) {
    if (difference_.ok) difference_.text = StrCat(parts...);
    difference_.ok = false;
  }

  void FailAt(const Literal& actual, const Literal& expected, int64_t i) {
    if (!difference_.ok) return;
    Fail("element ", i, " is ", ElementText(actual, i), ", expected ",
         ElementText(expected, i));
  }

  // An optional sequence holds sequences: two levels at the most.
  void CompareElements(const Literal& actual, const Literal& expected) {
    const auto &got = actual.elements(), &wanted = expected.elements();
    if (got.size() != wanted.size()) {
      return Fail("has ", got.size(), " elements, expected ", wanted.size());
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool was_ok = difference_.ok;
      Compare(got[i], wanted[i]);
      if (was_ok && !difference_.ok) {
        difference_.text = StrCat("tensor ", i, ": ", difference_.text);
      }
    }
  }

  void CompareFloats(const Literal& actual, const Literal& expected) {
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      const double a = actual.AsDouble(i), e = expected.AsDouble(i);
      if (a == e || (std::isnan(a) && std::isnan(e))) continue;
      const double error = std::fabs(a - e), size = std::fabs(e);
      // An infinity is no tolerance.
      if (!(error <= tolerance_.absolute + tolerance_.relative * size) ||
          !std::isfinite(error)) {
        FailAt(actual, expected, i);
      }
      if (!std::isfinite(error)) continue;
      difference_.max_absolute = std::max(difference_.max_absolute, error);
      if (size == 0) continue;
      difference_.max_relative =
          std::max(difference_.max_relative, error / size);
    }
  }

  const Tolerance tolerance_;
  LiteralDifference difference_;
};

}  // namespace

void LiteralDifference::Merge(const LiteralDifference& other) {
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  if (ok && !other.ok) text = other.text;
  ok = ok && other.ok;
}

LiteralDifference CompareLiterals(const Literal& actual,
                                  const Literal& expected,
                                  const Tolerance& tolerance) {
  ValueComparison comparison(tolerance);
  comparison.Compare(actual, expected);
  return comparison.Take();
}

bool SameBitsButNan(const Literal& a, const Literal& b) {
  if (!(a.type() == b.type())) return false;
  if (a.kind() != ValueKind::kTensor || IsString(a.dtype()) ||
      !IsFloat(a.dtype())) {
    return CompareLiterals(a, b, {}).ok;
  }
  for (int64_t i = 0; i < a.element_count(); ++i) {
    const double x = a.AsDouble(i), y = b.AsDouble(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (std::bit_cast<uint64_t>(x) != std::bit_cast<uint64_t>(y)) return false;
  }
  return true;
}

}  // namespace encore
