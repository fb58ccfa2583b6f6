// VendorStep: one primitive of the library, ready to be called.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_STEP_H_
#define ENCORE_BACKENDS_CPU_VENDOR_STEP_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "encore/backends/cpu/vendor/library.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// A primitive and what it is called with. Thread-safe.
class VendorStep {
 public:
  struct Argument {
    int role = 0;  // DNNL_ARG_…
    const_dnnl_memory_desc_t layout = nullptr;
  };
  // Takes `description` over, which may be null where an earlier call failed.
  static StatusOr<std::unique_ptr<VendorStep>> Make(
      const VendorLibrary& library, dnnl_primitive_desc_t description,
      std::span<const Argument> arguments);
  ~VendorStep();
  VendorStep(const VendorStep&) = delete;
  VendorStep& operator=(const VendorStep&) = delete;

  // Runs on `data`, an address per argument. REQUIRES a SingleThread in scope.
  Status Run(std::span<void* const> data) const;

 private:
  // What one call needs; calls under way at the same time have different ones.
  struct Call;
  static constexpr size_t kMostArguments = 4;
  static constexpr size_t kKept = 16;

  explicit VendorStep(const VendorLibrary& library) : library_(library) {}
  StatusOr<Call*> NewCall() const;
  void Delete(Call* call) const;

  const VendorLibrary& library_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<int> roles_;
  std::vector<dnnl_memory_desc_t> layouts_;
  mutable std::array<std::atomic<Call*>, kKept> calls_ = {};
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_STEP_H_
