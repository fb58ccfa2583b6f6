#include "encore/backends/cpu/attention/scratch.h"

#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {

AttentionScratch MakeScratch(const AttentionSchedule& s) {
  constexpr int64_t kLine = 16;  // elements of a cache line
  int64_t end = 0;
  const auto take = [&end](int64_t elements) {
    const int64_t begin = end;
    end += RoundUp<int64_t>(elements, kLine);
    return begin;
  };
  AttentionScratch scratch;
  scratch.queries = take(s.state_rows() * s.padded_depth());
  scratch.keys = take(s.depth * s.padded_keys());
  scratch.values = take(s.padded_keys() * s.padded_columns());
  scratch.scores = take(s.rows * s.padded_keys());
  scratch.results = take(s.state_rows() * s.padded_columns());
  scratch.maxima = take(s.state_rows());
  scratch.sums = take(s.state_rows() * s.lanes);
  scratch.scales = take(s.rows);
  scratch.bytes = end * int64_t{sizeof(float)};
  return scratch;
}

}  // namespace encore::backends::cpu
