#include "encore/tools/run/compare.h"

#include <algorithm>
#include <cmath>

#include "encore/ir/support/strings.h"

namespace encore::tools {

void Difference::Merge(const Difference& other) {
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  if (ok && !other.ok) text = other.text;
  ok = ok && other.ok;
}

Difference Compare(const Literal& actual, const Literal& expected,
                   double relative, double absolute) {
  Difference difference;
  const auto fail = [&](std::string text) {
    if (difference.ok) difference.text = std::move(text);
    difference.ok = false;
  };
  if (actual.type() != expected.type()) {
    fail(StrCat("is ", actual.type(), ", expected ", expected.type()));
    return difference;
  }
  if (expected.kind() != ValueKind::kTensor) {
    const auto &elements = actual.elements(), &wanted = expected.elements();
    if (elements.size() != wanted.size()) {
      fail(StrCat("has ", elements.size(), " elements, expected ",
                  wanted.size()));
      return difference;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      difference.Merge(Compare(elements[i], wanted[i], relative, absolute));
    }
    return difference;
  }
  if (!IsFloat(expected.dtype())) {
    if (!(actual == expected)) fail("differs from what was expected");
    return difference;
  }
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = actual.AsDouble(i), e = expected.AsDouble(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double error = std::fabs(a - e);
    if (!(error <= absolute + relative * std::fabs(e))) {
      fail(StrCat("element ", i, " is ", a, ", expected ", e));
    }
    if (std::isnan(error)) continue;
    difference.max_absolute = std::max(difference.max_absolute, error);
    if (e != 0) {
      difference.max_relative =
          std::max(difference.max_relative, error / std::fabs(e));
    }
  }
  return difference;
}

}  // namespace encore::tools
