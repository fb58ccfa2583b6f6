// Any region as one generated kernel: loops over its outer points, stage after
// stage, with one variable along the vector lanes (schedule.h).
//
// Reductions run in an order that the region and the Isa fix, never the number
// of threads: partitions do not share a reduction.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_REGION_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_REGION_CODEGEN_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {

struct GeneratedKernel {
  std::string ir;          // a module with the function
  int64_t partitions = 1;  // calls per launch
  // Whether the caller chooses how many there are, up to that many.
  bool any_partitions = false;
  Dim scratch_bytes;            // the buffer behind the outputs, 0: none
  uint32_t helper_version = 1;  // of the function table that it needs
};

// What `b` has as the function `name` (a KernelFunction) of so many partitions.
GeneratedKernel FinishKernel(IrBuilder& b, std::string_view name,
                             int64_t partitions, int vector_bits);

struct RegionNest {
  const FlatRegion* flat = nullptr;  // may be symbolic where it is the only one
  const Schedule* schedule = nullptr;
};

// What the stages of a nest keep for one another, at the typical sizes.
struct NestMemory {
  int64_t kept_bytes = 0;     // of a partition, wherever it lies
  int64_t scratch_bytes = 0;  // of a launch: GeneratedKernel::scratch_bytes
};
NestMemory MemoryOf(const RegionNest& nest);

// The function `name` (a KernelFunction) that computes regions of the same
// operands, one after the other. Their schedules have one number of partitions,
// of which each computes its share of every region. REQUIRES that only a single
// one has stages whose results are buffers.
GeneratedKernel GenerateRegion(std::span<const RegionNest> nests,
                               std::string_view name, int vector_bits);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_REGION_CODEGEN_H_
