// Products whose sums run along the lanes: for results of few columns, which
// fill no vector, and for factors that both lie along the sum.
//
// A tile is `rows` values of one outer variable, which one factor depends on,
// by `columns` of another, which the other one does. Each of its sums is a
// vector: of every `lanes` neighbours along the sum one vector of each row and
// of each column is loaded, and serves all of the other. Behind the last of
// them the lanes of a row's sums are folded together, so that its columns are
// neighbours in one vector, and the epilogue runs on these as behind other
// tiles
// (../codegen/tile_schedule.h). A weight that lies otherwise is packed by the
// prepare plan, the sum innermost.
#ifndef ENCORE_BACKENDS_CPU_INNER_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_INNER_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct InnerSchedule {
  // The epilogue's: its vector variable is the columns', one vector of them.
  TileSchedule tile;
  int columns = 1;  // of a tile
  int64_t column_tiles = 1;
  uint32_t lane_variable = 0;  // the last that the sum reduces
  // The factors: of rows, of columns.
  ExprId row_factor, column_factor;
};

// The best one; nothing where the region is not a sum of products of two such
// factors followed by elementwise work. `weights`: inputs that may be packed.
// Deterministic, and the same for any number of threads.
std::optional<InnerSchedule> MakeInnerSchedule(const FlatRegion& flat,
                                               const std::vector<bool>& weights,
                                               Isa isa);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_INNER_SCHEDULE_H_
