// How far a value is from what was expected.
//
// Literal's own == says whether two values have the same bits. This says
// whether they agree, which a NaN does with any NaN and -0 with 0, and where
// they do not.
#ifndef ENCORE_IR_TYPES_LITERAL_COMPARE_H_
#define ENCORE_IR_TYPES_LITERAL_COMPARE_H_

#include <string>

#include "encore/ir/types/literal.h"

namespace encore {

// Floats a and e (expected) agree where |a - e| <= absolute + relative * |e|.
struct Tolerance {
  double relative = 0, absolute = 0;
};

struct LiteralDifference {
  // Of pairs of floats that are neither NaN nor infinite; the relative one of
  // those whose expected value is not 0.
  double max_absolute = 0;
  double max_relative = 0;
  bool ok = true;
  // The first disagreement where not ok: another type, another length, or an
  // element and both its values.
  std::string text = {};

  // Becomes the worse of both; the text stays where there is one.
  void Merge(const LiteralDifference& other);
};

// Values agree where their types do (dtype, dims, value kind) and
//   floats       are equal, both NaN, or finite and within the tolerance;
//   other tensors have equal elements, strings byte for byte;
//   sequences and optionals have as many elements, which agree in order.
// Linear in the number of elements; reads any alignment.
LiteralDifference CompareLiterals(const Literal& actual,
                                  const Literal& expected,
                                  const Tolerance& tolerance);

// Whether both have the same type and bits, but that a NaN is any NaN.
bool SameBitsButNan(const Literal& a, const Literal& b);

}  // namespace encore

#endif  // ENCORE_IR_TYPES_LITERAL_COMPARE_H_
