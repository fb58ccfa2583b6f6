// Where a unit of attention keeps what it computes.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_SCRATCH_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_SCRATCH_H_

#include <cstdint>

#include "encore/backends/cpu/attention/schedule.h"

namespace encore::backends::cpu {

// Offsets in f32 elements from the beginning of a partition's scratch memory,
// each at a cache line.
struct AttentionScratch {
  int64_t queries = 0;  // [state rows][padded depth]
  int64_t keys = 0;     // panels of [depth][vectors]
  int64_t values = 0;   // panels of [keys of a block][vectors]
  int64_t scores = 0;   // [rows of a tile][padded keys]
  int64_t results = 0;  // [state rows][padded columns]
  int64_t maxima = 0;   // [state rows]
  int64_t sums = 0;     // [state rows][lanes], to be added up
  int64_t scales = 0;   // [rows of a tile]: e^(m before - m)
  int64_t bytes = 0;    // of a partition
};

AttentionScratch MakeScratch(const AttentionSchedule& schedule);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_SCRATCH_H_
