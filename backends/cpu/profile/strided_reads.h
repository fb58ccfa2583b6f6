// StridedReads: the lines of memory that nested loops read in place, and how
// they lie in the sets of a cache.
//
// Steps of a power of two elements bring all lines to few sets: a cache of w
// ways has room for w lines of each set, so that much less than its size may
// not stay in it. Sets are counted by the addresses in one block of memory that
// is mapped as one, as huge pages are.
//
// Source: J. Hennessy, D. Patterson, Computer Architecture, appendix B (sets
// and conflict misses).
#ifndef ENCORE_BACKENDS_CPU_PROFILE_STRIDED_READS_H_
#define ENCORE_BACKENDS_CPU_PROFILE_STRIDED_READS_H_

#include <cstdint>
#include <vector>

namespace encore::backends::cpu {

class StridedReads {
 public:
  // A loop: bytes from point to point, of any sign, and points.
  struct Step {
    int64_t bytes = 0;
    int64_t extent = 1;
  };

  // `width` bytes, at least 1, at each point of all `steps` together.
  StridedReads(std::vector<Step> steps, int64_t width);

  // Different lines, the first byte at the beginning of one.
  double lines() const { return runs_ * static_cast<double>(run_lines_); }
  // Runs of neighbouring lines that these are.
  double runs() const { return runs_; }
  // Lines in each set that any are in, of a cache whose ways have `way_bytes`,
  // a power of two.
  double LinesPerSet(int64_t way_bytes) const;

 private:
  std::vector<Step> apart_;  // the loops whose points share no line
  double runs_ = 1;          // points of these
  int64_t run_lines_ = 1;    // neighbours, at each
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_PROFILE_STRIDED_READS_H_
