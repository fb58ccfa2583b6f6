#include "encore/backends/cpu/profile/strided_reads.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {

StridedReads::StridedReads(std::vector<Step> steps, int64_t width) {
  for (Step& step : steps) step.bytes = std::abs(step.bytes);
  std::ranges::sort(steps, {}, &Step::bytes);
  int64_t run = width;  // bytes without a line between that is not read
  for (const Step& step : steps) {
    if (step.bytes == 0 || step.extent <= 1) continue;
    if (step.bytes <= RoundUp(run, kLineBytes)) {
      run += step.bytes * (step.extent - 1);
    } else {
      apart_.push_back(step);
      runs_ *= static_cast<double>(step.extent);
    }
  }
  run_lines_ = CeilDiv(run, kLineBytes);
}

double StridedReads::LinesPerSet(int64_t way_bytes) const {
  // Runs begin at multiples of what all steps are multiples of.
  int64_t grid = way_bytes;
  for (const Step& step : apart_) grid = std::gcd(grid, step.bytes);
  grid = std::max(grid, kLineBytes);
  const double places = std::min(runs_, static_cast<double>(way_bytes / grid));
  const double sets = std::min(static_cast<double>(way_bytes / kLineBytes),
                               places * static_cast<double>(run_lines_));
  return lines() / sets;
}

}  // namespace encore::backends::cpu
