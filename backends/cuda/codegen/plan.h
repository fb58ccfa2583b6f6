// KernelPlan: which launches compute a region, and who does what in them.
//
// A team is a thread, a warp or a block. Each launch gives a team to every
// point of some variables, and the team runs the launch's stages one after the
// other: its lanes share a stage's other loops, or what the stage reduces.
// Stages are in one launch where the outer points alone keep a device busy, and
// in one each where they do not: then a stage's loops are points too.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cuda/codegen/loops/vectors.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

enum class Team : uint8_t { kThread, kWarp, kBlock };

// Where the result of a stage is kept.
enum class Storage : uint8_t {
  kNone,      // there is none
  kRegister,  // a scalar, in every lane
  kLane,      // an element for each of the lane's steps through a row
  kLocal,     // an array of the thread
  kShared,    // an array of the block
  kScratch,   // global memory, for each outer point
};

struct StagePlan {
  uint32_t stage = 0;
  // Of its loops that are no points: those that lanes share, and those that
  // each lane runs through in order (outermost first, each).
  std::vector<uint32_t> spread, serial;
  // Whether lanes share what is reduced; then no loop is spread.
  bool shares_reduction = false;
  // Whether lanes go through the launch's row in its steps.
  bool in_row = false;
  // Lanes have neighbours in the last variable of what they share in groups,
  // and of these so many under way at once; in a row, all of its steps.
  std::optional<VectorPlan> groups = std::nullopt;
  int groups_at_once = 1;
  // Above 1: what is reduced, or scanned, is cut into so many pieces, each a
  // team's. Their results a second launch merges, always in the same order; of
  // a scan it begins each piece with those of the pieces before.
  int pieces = 1;
  bool merges = false;  // the second launch of a reduction
  bool totals = false;  // the first launch of a scan
};

struct LaunchPlan {
  std::vector<uint32_t> points;  // outermost first
  Team team = Team::kThread;
  int threads = 128;  // of a block
  std::vector<StagePlan> stages;
  // Variables that several stages have their lanes share, in which each lane so
  // has the same points whatever the stage: what it loads or keeps there stays
  // in its registers. `steps` is how many points those are at most; 0: no row.
  std::vector<uint32_t> row;
  int steps = 0;
  // Of the steps so many are neighbours (StagePlan::groups).
  int row_width = 1;
  // Expressions that several stages of the row have, and that take long to
  // compute: lanes keep them.
  std::vector<uint32_t> kept = {};
  // Above 1: so many points are one team's, one after the other. Loads of
  // `shared` (expressions), which differ along the row but not from point to
  // point, are made once for all points of a block.
  int points_of_team = 1;
  std::vector<uint32_t> shared = {};
  // The same, but kept in shared memory as they lie.
  std::vector<uint32_t> held = {};
  // Whether the first stage's groups of the next point are loaded while this
  // one's are computed on.
  bool loads_ahead = false;
  // Of a launch of threads: each has as many points as vectors are wide.
  std::optional<VectorPlan> vectors = std::nullopt;

  int lanes() const {
    return team == Team::kThread ? 1 : team == Team::kWarp ? 32 : threads;
  }
  int teams_of_block() const { return threads / lanes(); }
  // Teams of a point.
  int pieces() const {
    return stages.size() == 1 && !stages[0].merges ? stages[0].pieces : 1;
  }
  int points_of_block() const {
    return teams_of_block() * (vectors ? vectors->width : points_of_team);
  }
};

struct KernelPlan {
  std::vector<LaunchPlan> launches;
  std::vector<Storage> results;  // by stage
};

// What is chosen by. Tests choose by others, so that small regions take every
// way.
struct PlanLimits {
  // Outer points below which stages get launches of their own, and points that
  // one of them has to have for that.
  int64_t few_points = 256;
  int64_t much_work = 32768;
  // Iterations of a point from which a warp, and from which a block takes it.
  int64_t warp_work = 32;
  int64_t block_work = 1024;
  // Bytes of arrays that a block, and that a thread keeps.
  int64_t shared_bytes = 40 * 1024;
  int64_t local_bytes = 256;
  // Steps of a lane through a row, of a warp and of a block.
  int64_t warp_steps = 32;
  int64_t block_steps = 16;
  // Points from which elementwise stages have vectors.
  int64_t vector_points = 4096;
  // What a team reduces before others take part; how many do at most.
  int64_t piece_work = 4096;
  int64_t piece_teams = 1024;
  // Blocks from which on each takes several points, which share what they read:
  // so many that none is long at work when the others are done.
  int64_t teams = 4096;
  // Elements that a lane keeps of rows where its team has several points, of
  // blocks of up to 256 threads, and of those of 1,024.
  int64_t lane_elements = 64;
  int64_t large_block_lane_elements = 24;
};

KernelPlan MakePlan(const FlatRegion& flat, const PlanLimits& limits = {});

// A launch for each stage, with loops of stores that combine with what is there
// as points: they are atomic (atomics.h).
KernelPlan MakeAtomicPlan(const FlatRegion& flat,
                          const PlanLimits& limits = {});

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_PLAN_H_
