// One kernel for the region of a whole graph, on data, on the PTX interpreter.
#ifndef ENCORE_BACKENDS_CUDA_TESTING_KERNEL_CASE_H_
#define ENCORE_BACKENDS_CUDA_TESTING_KERNEL_CASE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::backends::cuda {

// A graph's text with `dtype` in place of each T.
std::string Of(std::string text, std::string_view dtype);

struct KernelCase {
  std::string_view text;    // of the graph
  std::string_view kernel;  // candidates.h; empty: the first
  Precision precision = Precision::kF32;
  PlanLimits limits = {};
  // Whether buffers begin so many bytes, at most 8, behind an aligned address.
  bool misaligned = false;
  uint64_t misalignment = 8;
  Rewrites rewrites = Rewrites::kReassociate;
  // What device the kernel is planned for; empty: any.
  std::string_view target = "cuda";
  // Of the order of blocks, warps and lanes.
  uint64_t seed = 0;
  // Of the graph; none: random data.
  std::vector<Literal> arguments = {};
  // How far beyond its bounds a result may be, over the largest of the output:
  // of products of fewer bits.
  double slack = 0;
};

struct KernelResult {
  std::string kernel;
  std::vector<ptx::Counters> launches;
  // In the order of the region's.
  std::vector<Literal> outputs;
  // What the region reads and writes, each element once.
  double least_bytes = 0;

  double moved_bytes() const;  // of global memory
  // Sectors of 32 bytes that are touched over those that the bytes fill.
  double sector_waste() const;
  uint64_t bank_conflicts() const;
  uint64_t instructions(ptx::InstructionClass of) const;  // of warps
};

// Runs the case on random data. Internal where a result is outside of its
// bounds (conformance/bounds.h).
StatusOr<KernelResult> RunCase(const KernelCase& c);

// The same, printed. A case that fails is a failure of the test.
KernelResult RunAndPrint(const KernelCase& c);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_TESTING_KERNEL_CASE_H_
