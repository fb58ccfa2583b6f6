#include "encore/backends/cpu/loops/blocks.h"

#include <algorithm>
#include <cstdlib>

#include "encore/backends/cpu/machine.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cpu {
namespace {

// About what a core has begun before the first of it is done. Points that take
// longer fill it alone, and shorter ones many at a time.
constexpr double kFilledCycles = 2000;
constexpr int64_t kMostPoints = 8;
// Blocks that are left at least where the points of a page are one: for other
// threads.
constexpr int64_t kLeastBlocks = 4;

// Whether the stage reduces to one value that several sums of it make.
bool IsSimple(const Stage& stage) {
  return stage.kind == Stage::Kind::kReduce && stage.loops.empty() &&
         stage.combiner <= RegionCombiner::kOr &&
         stage.accumulate != DType::kBool;
}

// What the stage's value loads.
std::vector<ExprId> LoadsOf(const Region& region, const Stage& stage) {
  std::vector<ExprId> loads;
  const std::vector<bool> needed = Reachable(region, {stage.value});
  for (uint32_t e = 0; e < needed.size(); ++e) {
    if (needed[e] && region.exprs[e].kind == Expr::Kind::kLoad) {
      loads.push_back(ExprId(e));
    }
  }
  return loads;
}

// What a step of `v` moves the address by.
int64_t StepBytes(const FlatRegion& flat, ExprId load, uint32_t v) {
  const Expr& expr = flat.region->expr(load);
  const int64_t step = flat.loads[expr.number].address.Coefficient(v);
  return std::abs(step) * BitWidth(expr.dtype) / 8;
}

class Finder {
 public:
  Finder(const FlatRegion& flat, const std::vector<int>& stage_variables,
         uint32_t row)
      : flat_(flat), stage_variables_(stage_variables), row_(row) {}

  Blocks Find(double cycles) const {
    Blocks blocks;
    for (size_t s = 0; s < stage_variables_.size(); ++s) {
      const int64_t points = PointsOfPage(s);
      blocks.together.push_back(points > 1);
      blocks.points = std::max(blocks.points, points);
    }
    const int64_t extent = flat_.extents[row_];
    if (blocks.points == 1 && VectorsWaitForFolds()) {
      blocks.points =
          std::clamp<int64_t>(static_cast<int64_t>(kFilledCycles / cycles), 1,
                              std::clamp<int64_t>(extent, 1, kMostPoints));
    }
    return blocks;
  }

 private:
  // Whether the stage's last reduced variable runs along the lanes.
  bool IsFolded(size_t s) const {
    return stage_variables_[s] >= 0 && !flat_.reduced[s].empty() &&
           static_cast<int>(flat_.reduced[s].back()) == stage_variables_[s];
  }

  bool VectorsWaitForFolds() const {
    bool folded = false;
    for (size_t s = 0; s < stage_variables_.size(); ++s) {
      if (stage_variables_[s] < 0) continue;
      if (folded) return true;
      folded = IsFolded(s);
    }
    return false;
  }

  // Points whose elements fill a page that the stage's reduction steps over; 1
  // where it does not, or each point has whole pages.
  int64_t PointsOfPage(size_t s) const {
    const Region& region = *flat_.region;
    const std::vector<uint32_t>& reduced = flat_.reduced[s];
    if (!IsFolded(s) || reduced.size() < 2 || !IsSimple(region.stages[s])) {
      return 1;
    }
    int64_t points = 1;
    for (const ExprId load : LoadsOf(region, region.stages[s])) {
      const Access& access = region.access(load);
      if (access.source == Access::Source::kStage) {
        if (!access.indices.empty()) return 1;
        continue;
      }
      const uint32_t last = reduced.back();
      const int64_t run = StepBytes(flat_, load, last) * flat_.extents[last];
      const int64_t apart = StepBytes(flat_, load, row_);
      const int64_t step = StepBytes(flat_, load, reduced[reduced.size() - 2]);
      if (run > 0 && run <= apart && apart < std::min(step, kPageBytes) &&
          step >= kPageBytes) {
        points = std::max(points, CeilDiv<int64_t>(kPageBytes, apart));
      }
    }
    const int64_t most = flat_.extents[row_] / kLeastBlocks;
    return std::clamp<int64_t>(points, 1, std::max<int64_t>(most, 1));
  }

  const FlatRegion& flat_;
  const std::vector<int>& stage_variables_;
  const uint32_t row_;
};

// Vectors along `v` whose elements fill what the stage's reduction steps over,
// a page at most; 1 where all that it reads stays in a core's second level of
// cache, which is fast in any order.
int64_t VectorsOfPage(const FlatRegion& flat, size_t s, uint32_t v, int lanes) {
  const Region& region = *flat.region;
  if (!IsSimple(region.stages[s]) || flat.reduced[s].empty()) return 1;
  int64_t reduced = 1, vectors = 1;
  for (const uint32_t r : flat.reduced[s]) reduced *= flat.extents[r];
  for (const ExprId load : LoadsOf(region, region.stages[s])) {
    if (region.access(load).source == Access::Source::kStage) continue;
    const int64_t element = StepBytes(flat, load, v), run = element * lanes;
    const int64_t step = StepBytes(flat, load, flat.reduced[s].back());
    if (flat.loads[region.expr(load).number].address.Coefficient(v) == 1 &&
        step > run && element * flat.extents[v] * reduced > kSecondCacheBytes) {
      vectors =
          std::max(vectors, CeilDiv<int64_t>(std::min(step, kPageBytes), run));
    }
  }
  return std::min(vectors, CeilDiv<int64_t>(flat.extents[v], lanes));
}

}  // namespace

Blocks FindBlocks(const FlatRegion& flat,
                  const std::vector<int>& stage_variables, uint32_t row,
                  double cycles) {
  if (flat.is_symbolic() || !flat.region->checks.empty()) return {};
  return Finder(flat, stage_variables, row).Find(cycles);
}

Blocks FindVectorBlocks(const FlatRegion& flat, uint32_t v, int lanes) {
  if (flat.is_symbolic() || !flat.region->checks.empty()) return {};
  Blocks blocks;
  for (size_t s = 0; s < flat.region->stages.size(); ++s) {
    if (!flat.region->stages[s].loops.empty()) return {};
    const int64_t vectors = VectorsOfPage(flat, s, v, lanes);
    blocks.together.push_back(vectors > 1);
    blocks.points = std::max(blocks.points, vectors);
  }
  // What stages give is kept for all of them.
  const auto bytes = blocks.points * lanes * int64_t{sizeof(double)} *
                     static_cast<int64_t>(blocks.together.size());
  return bytes <= kMaxStackBytes ? blocks : Blocks();
}

}  // namespace encore::backends::cpu
