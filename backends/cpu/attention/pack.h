// Operands of the products, from where they are in memory into scratch memory.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_PACK_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_PACK_H_

#include <cstdint>

#include "encore/backends/cpu/attention/unit.h"

namespace encore::backends::cpu {

// Of `keys` keys from `first` on, of the head at which `code` is: panels of
// keys along the lanes, and of columns of values. Lanes behind the last are 0.
void PackKeys(const AttentionCode& code, const Value& first, int64_t keys);
void PackValues(const AttentionCode& code, const Value& first, int64_t keys);

// The query of row `row` of the head as number `place` of those in scratch.
void PackQuery(const AttentionCode& code, const Value& row, const Value& place);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_PACK_H_
