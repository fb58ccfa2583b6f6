// NVRTC: from CUDA C++ to PTX and machine code, in this process and without a
// driver or a device.
//
// The library is loaded on first use, from where LibraryPlaces says: the
// environment variable ENCORE_NVRTC, the runfiles, or beside the program. It
// must be the release that the header is of, since what it makes enters keys.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_COMPILER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_COMPILER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// The target's ingredient: the release that is wanted and the id of the file
// that would be loaded (cpu/elf/library_file.h), "13.0 65be…", or "13.0 none".
// Updates of a release differ in the code that they make, and say the same of
// their version. Reads the file's head, loads nothing; asked once. A library
// whose file has changed since then is not loaded.
const std::string& NvrtcVersion();

// The least driver that loads what it makes, as cuDriverGetVersion has it.
uint32_t NvrtcDriver();

// The architectures that it compiles for, ascending, among those from sm_80 on.
std::span<const Architecture> KnownArchitectures();

struct DeviceCode {
  std::string ptx;  // without a zero behind it
  std::vector<std::byte> cubin;
  std::string log;  // warnings
};

// `source` for `architecture`: the PTX of the virtual architecture of that name
// and, unless `ptx_only`, a cubin of the real one. NotFound says where the
// library belongs, FailedPrecondition what is wrong with the one that is there,
// Internal what the compiler says of the source. Thread-safe.
StatusOr<DeviceCode> CompileDeviceCode(const std::string& source,
                                       const Architecture& architecture,
                                       bool ptx_only = false);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_COMPILER_H_
