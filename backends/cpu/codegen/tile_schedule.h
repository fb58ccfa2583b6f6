// Register tiles: the schedule of matrix products and convolutions.
//
// A tile is `rows` values of one outer variable by `vectors` vectors of
// another. All of its sums are kept in registers while the reduction runs once,
// so that each load serves a whole row or column of the tile. The epilogue
// of the sum (bias, activation, residual) runs on the tile before it is stored.
//
// A weight that such a kernel reads along the lanes is packed by the prepare
// plan into panels as wide as a tile. Other factors may be staged (staging.h):
// a unit of work is then a block of points, staged first, by all rows or a
// chunk of them.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TILE_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TILE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct TileSchedule {
  int lanes = 1;
  uint32_t vector_variable = 0;
  uint32_t row_variable = 0;
  int rows = 1;     // of a tile
  int vectors = 1;  // of a tile
  // The other outer variables.
  std::vector<uint32_t> others;
  int64_t other_points = 1;
  int64_t row_tiles = 1;
  int64_t chunks = 1;  // of the vector variable, each a multiple of a tile
  int64_t chunk_extent = 0;
  int64_t partitions = 1;
  double cycles = 0, compute_cycles = 0;  // as in Schedule
  // Inputs that are to be packed along the vector or the row variable: the dim
  // that is cut in blocks, if these have more than one element, and all dims,
  // that one first.
  struct Panel {
    uint32_t input = 0;
    int dim = 0;
    int64_t block = 1;
    std::vector<int> order;
  };
  std::vector<Panel> panels;
  // Where there is one, the variables above are those of its region.
  std::optional<Staging> staging;
  int64_t row_chunks = 1;   // of a staged kernel; of planes, chunks of rows
  int64_t chunk_tiles = 0;  // tiles of rows in each
  int64_t stage_pitch = 0;  // elements between reduced points in scratch
  int64_t stage_bytes = 0;  // scratch of a partition, whole lines
  // Values of `plane_variable`, the row variable or another one, whose points
  // share a copy of their windows (planes.h); 0: none. The copy is in scratch
  // where stage_bytes are set, else on the stack.
  int64_t plane_rows = 0;
  uint32_t plane_variable = 0;
  // Chunks of `plane_rows` rows as with planes, but windows are read where they
  // lie (window_tiles.h).
  bool in_place = false;

  int64_t block() const { return int64_t{lanes} * vectors; }
  // Of a launch: what is more than lies on a thread's stack.
  int64_t scratch_bytes() const;
};

// Values that are added to sums without a loop between: small windows are
// unrolled whole, their range checks become constants.
inline constexpr int64_t kMaxUnrolledPoints = 150;
// The same of the innermost loops over windows in copies, which are unrolled
// where outer ones are not.
inline constexpr int64_t kMaxUnrolledTaps = 320;

// Whether the region has the shape that tiles can compute: sums and maps
// without loops of their own, on operands without blocks.
bool FitsTiles(const FlatRegion& flat);

// The best tile; nothing where the region is not a sum per outer point followed
// by elementwise work. `weights`: inputs that may be packed.
std::optional<TileSchedule> MakeTileSchedule(const FlatRegion& flat,
                                             const std::vector<bool>& weights,
                                             Isa isa);

// Whether results of tiles with `v` along the lanes and `m` along the rows are
// neighbours in memory along the rows only. What follows the sums is then
// computed with the rows along the lanes, on sums that are transposed in
// registers (transpose.h).
bool TurnsResults(const FlatRegion& flat, uint32_t v, uint32_t m);

// Sets what every way to cut the tile's work begins with: the other variables,
// their points, and the tiles of rows.
void SetUnits(const FlatRegion& flat, TileSchedule* schedule);

// What a register tile takes for one reduced point: a cycle for each of its
// multiply-adds, four at least, since four sums hide the latency of one; and
// beside them the loads of a vector of each column, of a value of each row, and
// the loop.
inline constexpr double kLeastPointCycles = 4;
inline constexpr double kVectorLoadCycles = 0.6, kRowLoadCycles = 0.4;
inline constexpr double kLoopCycles = 1;
// A tile beside its points: its sums are zeroed, loops begin.
inline constexpr double kTileCycles = 30;
double PointCycles(int rows, int vectors);
// The same of so many rows by so many vectors in tiles of that shape, smaller
// ones at the ends.
double PointCycles(int64_t rows, int64_t vectors, int tile_rows,
                   int tile_vectors);

// How many partitions, `most` at the most, so many cycles are worth.
int64_t WantedPartitions(double cycles, int64_t most);
inline constexpr int64_t kMaxTilePartitions = 64;

// The reduced variables of a stage, those that range checks look at outermost:
// the checks of the inner loops are then made once.
std::vector<uint32_t> ReductionOrder(const FlatRegion& flat, size_t stage);

// `region` with the inputs of `schedule.panels` in packed layout.
Region WithPanels(const Region& region, const TileSchedule& schedule);

// The region that packs `input` of the unpacked `region`, and its result's
// bytes.
Region PackRegion(const Region& region, const TileSchedule::Panel& panel,
                  int64_t* bytes);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TILE_SCHEDULE_H_
