// Where a unit of a Winograd convolution keeps what it computes.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_SCRATCH_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_SCRATCH_H_

#include <cstdint>

#include "encore/backends/cpu/winograd/schedule.h"

namespace encore::backends::cpu {

// Offsets and distances in f32 elements, from the beginning of a partition's
// scratch memory. m, n: outputs and points of the transform in one dim. Columns
// are those of a unit's lines of tiles, m for each tile, line after line: the
// first vector of tiles begins up to one line behind the first of them.
struct WinogradScratch {
  // Zeros, where lines of padding are read: a line, by lines a vector.
  int64_t zeros = 0, zero_elements = 0;
  // [2][n][columns]: lines of one channel after the transform along columns;
  // behind them the same, m columns further on in each line of tiles. Not by
  // lines.
  int64_t lines = 0, line_pitch = 0;
  // [points][vectors of a span][channels][lanes]: the transformed data.
  int64_t data = 0, data_pitch = 0;  // from point to point
  // [rows of a chunk][vectors of a span][points][lanes]: the products.
  int64_t products = 0;
  // [m][columns]: the results of one row.
  int64_t results = 0, result_pitch = 0;
  int64_t bytes = 0;  // of a partition
};

WinogradScratch MakeScratch(const WindowedSum& sum,
                            const WinogradSchedule& schedule);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_SCRATCH_H_
