// Which variable of a region runs along vector lanes, and how its outer points
// are cut into partitions.
//
// Where loads have neighbours along another variable than stores do, as in a
// transpose, a map is computed in blocks of lanes x lanes points of the two:
// such loads are made along the other variable and transposed in registers
// (crossed_codegen.h).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/loops/blocks.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"
#include "encore/ir/ops/op.h"

namespace encore::backends::cpu {

inline constexpr int kNoVariable = -1;

// The blocks of a map with crossed loads.
struct Crossing {
  uint32_t variable = 0;      // that the loads are made along
  std::vector<ExprId> loads;  // kLoads
  // Loops over all blocks, outermost first: what one iteration moves a variable
  // on by. Of the two variables of a block the other steps by blocks, this one
  // by kBlocks of them, which are the innermost loop.
  struct Loop {
    uint32_t variable = 0;
    int64_t step = 1;
  };
  static constexpr int kBlocks = 4;
  std::vector<Loop> loops;
};

struct Schedule {
  int lanes = 1;
  // An outer variable along the lanes of all stages; or kNoVariable, and each
  // stage has a variable of its own: the last of its loops or reduced ones.
  int vector_variable = kNoVariable;
  std::vector<int> stage_variables;  // by stage, kNoVariable: scalar code
  std::optional<Crossing> crossing;  // REQUIRES a vector variable
  // The other outer variables; the points of these are the rows. With a
  // crossing, each iteration of its loops is one.
  std::vector<uint32_t> rows;
  int64_t row_count = 1;
  // Of vectors along the vector variable; without one, of points along the last
  // of the rows' variables, and a block is a row.
  Blocks blocks;
  // A row is cut into chunks of the vector variable; a unit of work is one.
  int64_t chunks = 1;
  int64_t chunk_extent = 0;
  int64_t partitions = 1;  // of row_count * chunks units
  // Estimates for the whole region on one core: with what it moves, as the
  // work is cut by; and of computing alone.
  double cycles = 0, compute_cycles = 0;
};

// Cycles of a vector of so many lanes of an elementwise operator.
double OpCycles(Op op, int lanes);

// How many partitions so many cycles are worth.
int64_t LoopPartitions(double cycles);

// Deterministic, and the same for any number of threads.
Schedule MakeSchedule(const FlatRegion& flat, Isa isa);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_SCHEDULE_H_
