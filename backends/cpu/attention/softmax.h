// From products to weights.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_SOFTMAX_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_SOFTMAX_H_

#include <cstdint>

#include "encore/backends/cpu/attention/unit.h"

namespace encore::backends::cpu {

// The rows of a tile, `rows` from `row` of the head on, the first of which is
// number `place` of those whose state is kept: their products with `keys` keys
// from `first` on become e^(score - m), where m is the row's largest score of
// these keys and those before. Adds them to the row's sum, and says by what to
// scale what was added before.
//
// Scores of -infinity count as 0 even where there was nothing else yet; a row
// without any other ends with a sum that is 0 or NaN. NaN and infinity make NaN
// of the sum. Powers below 2^-126 are 0.
void EmitSoftmax(const AttentionCode& code, const Value& row,
                 const Value& place, int rows, const Value& first,
                 int64_t keys);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_SOFTMAX_H_
