// The vendor library: oneDNN 3.2 behind its C interface, loaded on first use.
//
// Loading takes 3 to 4 ms, so only a process that has a vendor kernel to make
// does it. The library is looked for
//   1. at the path in the environment variable ENCORE_ONEDNN, and only there if
//      that is set ("" or "none": nowhere);
//   2. in the runfiles of the program or test;
//   3. beside the program.
// It must be the release that the headers are of: layouts of packed weights are
// what it keeps to itself.
//
// OpenMP. The library is called with one thread: SingleThread sets that for the
// calling thread and gives back what was set before.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_LIBRARY_H_
#define ENCORE_BACKENDS_CPU_VENDOR_LIBRARY_H_

#include <string>
#include <string_view>

#include "encore/ir/support/status.h"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_debug.h"

namespace encore::backends::cpu {

// X(name): dnnl_<name>.
#define ENCORE_VENDOR_FUNCTIONS(X)             \
  X(version)                                   \
  X(status2str)                                \
  X(set_max_cpu_isa)                           \
  X(engine_create)                             \
  X(stream_create)                             \
  X(stream_destroy)                            \
  X(memory_desc_create_with_strides)           \
  X(memory_desc_create_with_tag)               \
  X(memory_desc_create_submemory)              \
  X(memory_desc_clone)                         \
  X(memory_desc_destroy)                       \
  X(memory_desc_equal)                         \
  X(memory_desc_query)                         \
  X(memory_desc_get_size)                      \
  X(memory_create)                             \
  X(memory_destroy)                            \
  X(memory_set_data_handle)                    \
  X(primitive_attr_create)                     \
  X(primitive_attr_destroy)                    \
  X(primitive_attr_set_scratchpad_mode)        \
  X(matmul_primitive_desc_create)              \
  X(convolution_forward_primitive_desc_create) \
  X(reorder_primitive_desc_create)             \
  X(primitive_desc_query_md)                   \
  X(primitive_desc_query)                      \
  X(primitive_desc_destroy)                    \
  X(primitive_create) X(primitive_destroy) X(primitive_execute)

struct VendorLibrary {
#define ENCORE_VENDOR_FUNCTION(name) decltype(&dnnl_##name) name = nullptr;
  ENCORE_VENDOR_FUNCTIONS(ENCORE_VENDOR_FUNCTION)
#undef ENCORE_VENDOR_FUNCTION
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;  // the CPU; as long as the process lives
};

// What programs that need the library have among their requirements.
std::string_view VendorRequirement();  // "onednn=3.2.0"

// FailedPrecondition where `requirement` is of the library and this machine has
// none, or another release. Loads nothing. OK for other requirements.
Status CheckVendorRequirement(std::string_view requirement);
inline bool IsVendorRequirement(std::string_view requirement) {
  return requirement.substr(0, 7) == "onednn=";
}

// The target's ingredient: the version that is wanted and the id of the file
// that would be loaded (../elf/library_file.h), "3.2.0 3fb8…", or "none". Reads
// the file's head, loads nothing; asked once. A library whose file has changed
// since then is not loaded.
const std::string& VendorVersion();

// The library, loaded by the first call. NotFound says where it belongs,
// FailedPrecondition what is wrong with the one that is there, such as what the
// dynamic linker says of it. Thread-safe.
StatusOr<const VendorLibrary*> LoadVendorLibrary();

// Whether a LoadVendorLibrary has succeeded.
bool VendorLibraryIsLoaded();

// ResourceExhausted without memory, else Internal with what the library says,
// where `status` is not success.
Status ToStatus(const VendorLibrary& library, dnnl_status_t status,
                std::string_view what);

// While in scope, the library uses one thread when called from this one.
class SingleThread {
 public:
  explicit SingleThread(const VendorLibrary& library)
      : library_(library), before_(library.omp_get_max_threads()) {
    if (before_ != 1) library_.omp_set_num_threads(1);
  }
  ~SingleThread() {
    if (before_ != 1) library_.omp_set_num_threads(before_);
  }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  const VendorLibrary& library_;
  int before_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_LIBRARY_H_
