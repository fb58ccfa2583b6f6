// A product as cuBLASLt's descriptors have it, and its launches.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_PRODUCT_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_PRODUCT_H_

#include <cstdint>
#include <map>
#include <string>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/library/cublaslt_types.h"

namespace encore::backends::cuda {

// What the opaque structures hold here. Each begins with its mark.
struct EmulatedDesc {
  static constexpr uint64_t kMark = 0xd15c0001;
  uint64_t mark = kMark;
  uint64_t compute = 0, scale = 0, trans_a = 0, trans_b = 0;
  uint64_t epilogue = kLtEpilogueDefault;
  const void* bias = nullptr;
};
struct EmulatedLayout {
  static constexpr uint64_t kMark = 0xd15c0002;
  uint64_t mark = kMark;
  uint64_t type = 0, rows = 0, columns = 0;
  int64_t pitch = 0, batch = 1, batch_stride = 0;
};
struct EmulatedPreference {
  static constexpr uint64_t kMark = 0xd15c0003;
  uint64_t mark = kMark;
  uint64_t workspace_bytes = 0;
  uint64_t alignments[4] = {256, 256, 256, 256};
};
struct EmulatedAlgorithm {
  static constexpr uint64_t kMark = 0xd15c0004;
  uint64_t mark = kMark;
  int64_t pieces = 1, rows = 0, columns = 0, depth = 0, batch = 0;
  uint64_t alignment = 0;
  uint64_t bias_alignment = 0;  // that the bias had when it was chosen
};

// The product of these, which are checked as the library checks them.
struct EmulatedProduct {
  int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  int64_t a_row = 0, a_depth = 0, a_batch = 0;
  int64_t b_depth = 0, b_column = 0, b_batch = 0;
  int64_t c_column = 0, c_batch = 0, d_column = 0, d_batch = 0;
  bool relu = false, has_bias = false, wide = false;
  const void* bias = nullptr;
  std::string kernel;

  static LtStatus Of(const EmulatedDesc& desc, const EmulatedLayout& a,
                     const EmulatedLayout& b, const EmulatedLayout& c,
                     const EmulatedLayout& d, EmulatedProduct* product);
  // Bytes of workspace for sums of so many pieces.
  uint64_t WorkspaceBytes(int64_t pieces) const;
};

struct EmulatedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  void* workspace = nullptr;
  int64_t beta = 0;
};

// One launch, or two where there are several pieces.
Result LaunchProduct(const DriverTable& api, CUfunction function,
                     const EmulatedProduct& product,
                     const EmulatedOperands& operands, int64_t pieces,
                     CUstream stream);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_PRODUCT_H_
