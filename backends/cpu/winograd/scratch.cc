#include "encore/backends/cpu/winograd/scratch.h"

#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {

WinogradScratch MakeScratch(const WindowedSum& sum,
                            const WinogradSchedule& schedule) {
  const WinogradSchedule& s = schedule;
  constexpr int64_t kLine = 16;  // elements of a cache line
  int64_t end = 0;
  const auto take = [&end](int64_t elements) {
    const int64_t begin = end;
    end += RoundUp<int64_t>(elements, kLine);
    return begin;
  };
  WinogradScratch scratch;
  scratch.zero_elements = s.by_lines() ? s.lanes : sum.width;
  scratch.zeros = take(scratch.zero_elements + s.lanes);
  // The span's tiles, what the first line has before them and the last one
  // behind, and vectors that end behind the last.
  const int64_t columns =
      (s.span_vectors * s.lanes + 2 * s.tile_columns) * s.columns.outputs +
      2 * s.lanes;
  scratch.line_pitch = RoundUp<int64_t>(columns, kLine) + kLine;
  if (!s.by_lines()) {
    scratch.lines = take(2 * s.lines.points() * scratch.line_pitch);
  }
  // Not a power of two: points lie in different sets of the caches.
  scratch.data_pitch = s.span_vectors * sum.channels * s.lanes + kLine;
  scratch.data = take(s.points() * scratch.data_pitch);
  scratch.products =
      take(s.chunk_groups * s.rows * s.span_vectors * s.points() * s.lanes);
  scratch.result_pitch = scratch.line_pitch;
  scratch.results = take(s.lines.outputs * scratch.result_pitch);
  scratch.bytes = end * int64_t{sizeof(float)};
  return scratch;
}

}  // namespace encore::backends::cpu
