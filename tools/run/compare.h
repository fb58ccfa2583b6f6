// How far a tensor is from what was expected.
#ifndef ENCORE_TOOLS_RUN_COMPARE_H_
#define ENCORE_TOOLS_RUN_COMPARE_H_

#include <string>

#include "encore/ir/types/literal.h"

namespace encore::tools {

struct Difference {
  double max_absolute = 0;
  double max_relative = 0;  // of elements that are not 0
  bool ok = true;
  // What is wrong, where something is: the first element beyond the tolerance,
  // or another dtype or shape.
  std::string text;

  // Becomes the worse of both.
  void Merge(const Difference& other);
};

// Floats agree where |a - e| <= absolute + relative * |e|, NaN with NaN;
// everything else bit for bit.
Difference Compare(const Literal& actual, const Literal& expected,
                   double relative, double absolute);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_COMPARE_H_
