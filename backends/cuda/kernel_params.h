// The params of the CUDA backend's programs (runtime::KernelBinary::params):
// what the device must know of a kernel beside its code.
//
// A program is a list of launches of functions of one module (module_file.h).
// They run one after the other, each as if it began when the one before was
// done, and all get the same arguments, 8 bytes each, in this order:
//
//   the address of each buffer of the step: reads, then writes (scratch last)
//   the step's args, i64 each
//   the address of a FaultRecord, where `checks` is not empty
//
// Grids and shared memory are Dims over the args: arg i is symbol i.
#ifndef ENCORE_BACKENDS_CUDA_KERNEL_PARAMS_H_
#define ENCORE_BACKENDS_CUDA_KERNEL_PARAMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/region/first_fault.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cuda {

// Limits of every device from sm_80 on.
inline constexpr std::array<int64_t, 3> kMostBlocks = {INT32_MAX, 65535, 65535};
inline constexpr std::array<uint32_t, 3> kMostThreads = {1024, 1024, 64};
inline constexpr uint32_t kMostThreadsOfBlock = 1024;
inline constexpr uint32_t kMostArguments = 512;
inline constexpr size_t kMostLaunches = 64;

// Device memory that a kernel with checks reports to, aligned to 8 bytes. All
// zeros before the program's first launch; `found` is not 0 afterwards where a
// check did not hold, and the rest is then about the first (CheckFault). Not to
// be read while a launch runs.
struct FaultRecord {
  uint32_t lock = 0;
  uint32_t found = 0;
  uint32_t check = 0;  // an index into KernelParams::checks
  uint32_t node = 0;
  uint32_t component = 0;
  uint32_t unused = 0;
  int64_t position = 0;
  int64_t index = 0;
  int64_t count = 0;
  int64_t extent = 0;
};

struct KernelParams {
  struct Launch {
    std::string entry;  // of the module
    std::array<Dim, 3> grid = {1, 1, 1};
    std::array<uint32_t, 3> block = {1, 1, 1};
    Dim shared_bytes = 0;  // dynamic; more than 48 KiB is to be asked for

    bool operator==(const Launch&) const = default;
  };
  // What an IndexCheck of the region says that does not depend on data.
  struct Check {
    uint32_t node = 0, component = 0, axis = 0;
    Op op = Op::kGather;

    bool operator==(const Check&) const = default;
  };

  std::vector<Launch> launches;
  std::vector<Check> checks;

  bool operator==(const KernelParams&) const = default;
};

// REQUIRES valid dims, blocks within the limits above, and launches that use
// symbols below `args` only, where that is what Decode is given.
std::vector<std::byte> Encode(const KernelParams& params);

// Safe on any bytes; memory and time are bounded by their number. DataLoss
// where they are not the params of a program whose launches have `args` args.
StatusOr<KernelParams> DecodeKernelParams(std::span<const std::byte> bytes,
                                          uint32_t args);

// The sizes of a launch. Neither allocates nor locks where it succeeds.
struct LaunchSize {
  std::array<uint32_t, 3> grid = {};  // a 0: there is nothing to launch
  uint32_t shared_bytes = 0;
};

// Under the values of the args. Nothing where they ask for more than a device
// has; TooLarge is the error to report then.
std::optional<LaunchSize> SizeOf(const KernelParams::Launch& launch,
                                 std::span<const int64_t> args);
Status TooLarge(const KernelParams::Launch& launch,
                std::span<const int64_t> args);

// OK where nothing was found; else the error, and *node where that is not null.
// DataLoss for a record that no kernel of `params` writes.
Status ReportFault(const FaultRecord& record, const KernelParams& params,
                   uint32_t* node);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_KERNEL_PARAMS_H_
