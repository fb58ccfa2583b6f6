// The schedule of a Winograd convolution.
//
// The results of a WindowedSum are cut into tiles of m x m, numbered through
// all images; vectors run along tiles. Where one dim alone has a window, tiles
// are m x 1 or 1 x m, and each line has so many that no vector has some of two
// lines: some may lie behind its end. The work is cut into spans of vectors by
// splits of the result's channels. A unit, one of each, needs no other:
//
//   1. data     B^T d B of the span's tiles, for every channel, into scratch
//   2. products of each point of the transform, [rows of a split] x [channels]
//               by [channels] x [vectors of tiles], in register tiles; in as
//               many partial sums of channels as the error asks for
//   3. results  A^T m A, and the region's epilogue on them
//
// 2 and 3 by chunks of rows, whose products stay in a core's cache. Splits
// compute 1 again, and so are few. What is computed does not depend on how many
// threads there are.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/winograd/transform.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"

namespace encore::backends::cpu {

// The largest error_ratio of a schedule that is a candidate. With it the
// results of squeezenet1_1, resnet50 and inception_v3 were measured at
// most 1.35 times as far from f64 as without rewrites (./encore bench
// precision; figures in tests/benchmarks/results/precision.md).
inline constexpr double kMostErrorRatio = 1.75;

struct WinogradSchedule {
  WinogradTransform lines, columns;
  int lanes = 1;
  int64_t tile_lines = 1, tile_columns = 1;  // tiles of an image
  int64_t vectors = 1;                       // of all tiles
  int64_t spans = 1;
  int64_t span_vectors = 1;  // at most
  int rows = 1;              // of a register tile
  int tile_vectors = 1;      // of a register tile
  int64_t sum_channels = 1;  // of a partial sum, at most
  int64_t groups = 1;        // register tiles of rows: packed weights
  int64_t splits = 1;        // of the groups
  int64_t chunk_groups = 1;  // at most, in a chunk
  int64_t partitions = 1;
  int threads = 1;         // that the work is cut for
  double error_ratio = 1;  // transform.h
  double unit_cycles = 0;  // estimate of a unit on one core

  int64_t points() const { return int64_t{lines.points()} * columns.points(); }
  // Whether each vector of tiles lies in one line.
  bool by_lines() const { return lines.is_identity() || columns.is_identity(); }
  // Elements of the packed weights, [points][groups][channels][rows], from
  // point to point, and bytes of them all.
  int64_t weights_pitch(const WindowedSum& sum) const;
  int64_t weights_bytes(const WindowedSum& sum) const;
  // Estimates: of computing, on `threads`; and of what the transformed weights
  // cost a process that loads them.
  double cycles() const;
  double load_seconds(const WindowedSum& sum) const;
};

// What a kernel is called: with tiles of `outputs` along a dim with a window,
// cut for so many threads, whatever runs it. What is computed does not depend
// on these.
struct WinogradName {
  int outputs = 2;
  int threads = 1;

  std::string ToString() const;  // "winograd4/2"
  static std::optional<WinogradName> Parse(std::string_view name);
};

WinogradSchedule MakeWinogradSchedule(const WindowedSum& sum,
                                      const WinogradName& name, Isa isa);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_SCHEDULE_H_
