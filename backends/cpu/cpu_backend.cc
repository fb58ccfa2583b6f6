#include "encore/backends/cpu/cpu_backend.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/device.h"
#include "encore/backends/cpu/module_builder.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

class Cpu : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const override {
    return {{"cpu", CpuOf(options).Fingerprint()},
            {"codegen", CodegenId()},
            {"machine", ToLine(MachineOf(options))},
            {"onednn", MayUseVendor(options) ? VendorVersion() : "none"},
            {"threads",
             options.deterministic ? "any" : StrCat(PlannedThreads(options))}};
  }
  // Everything is computed in the graph's dtypes.
  bool Uses(std::string_view option) const override {
    return option != "precision" && option != "ports" &&
           option != "cuda_kernels";
  }
  Status Check(const CompileOptions& options) const override {
    return CheckMachine(options);
  }
  std::vector<std::string> variants() const override {
    return {std::string(Name(Isa::kAvx2)), std::string(Name(Isa::kAvx512))};
  }
  std::span<const DType> dtypes() const override {
    static const auto* const computed = [] {
      auto* list = new std::vector<DType>;
      for (const DType dtype : AllDTypes()) {
        if (IsComputed(dtype)) list->push_back(dtype);
      }
      return list;
    }();
    return *computed;
  }
  bool supports_symbolic_sizes() const override { return false; }
  bool uses_host_memory() const override { return true; }
  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override {
    return CandidatesOf(request, options);
  }
  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override {
    return BuildModule(requests, IsaOf(options), PlannedThreads(options),
                       store);
  }
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return cpu::NewDevice(ordinal);
  }
};

}  // namespace

const Backend* CpuBackend() {
  static const Cpu* const backend = new Cpu;
  return backend;
}

}  // namespace encore::backends::cpu
