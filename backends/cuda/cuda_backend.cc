#include "encore/backends/cuda/cuda_backend.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/module_builder.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/profile.h"
#include "encore/backends/cuda/requirements.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// What a target without a variant is compiled for: PTX that every device runs.
constexpr Architecture kLowest = {8, 0};

class Cuda : public Backend {
 public:
  Cuda(DeviceMaker new_device, std::string_view name)
      : new_device_(new_device), name_(name) {}

  std::string_view name() const override { return name_; }
  // Nothing of the machine but the compiler that is there: a target is the
  // same wherever it is compiled for. The versions are those that the code
  // wants of a driver and of libraries; what a machine has is compared with
  // them when it loads (requirements.h, library/library_kernel.h).
  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const override {
    const DeviceProfile profile = ProfileOf(options);
    std::vector<std::pair<std::string, std::string>> target = {
        {"architecture", Name(profile.architecture)},
        {"devices", name_},
        {"driver", CudaVersionText(NvrtcDriver())},
        {"nvrtc", NvrtcVersion()},
        {"profile", profile.ToString()}};
    if (options.cuda_kernels != CudaKernels::kGenerated) {
      target.emplace_back("cublaslt", StrCat(kCublasLtMajor));
    }
    return target;
  }
  bool Uses(std::string_view option) const override {
    // So many threads compile.
    return option != "cpu_kernels" && option != "machine";
  }
  std::vector<std::string> variants() const override {
    std::vector<std::string> names;
    for (const DeviceProfile& profile : AllProfiles()) {
      names.push_back(profile.name);
    }
    names.insert(names.end(), {"sm_NN", "FILE.json"});
    return names;
  }
  std::optional<Status> CheckOtherVariant(
      std::string_view variant) const override {
    Status status = FindProfile(variant).status();
    if (status.code() == StatusCode::kNotFound && !variant.ends_with(".json")) {
      return std::nullopt;
    }
    return status;
  }
  std::span<const DType> dtypes() const override {
    static const auto* const computed = [] {
      auto* list = new std::vector<DType>;
      std::ranges::copy_if(AllDTypes(), std::back_inserter(*list),
                           [](DType dtype) { return !IsString(dtype); });
      return list;
    }();
    return *computed;
  }
  bool supports_symbolic_sizes() const override { return false; }
  bool uses_host_memory() const override { return false; }
  bool has_queues() const override { return true; }
  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override {
    return CandidatesOf(request, options);
  }
  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override {
    std::vector<Architecture> architectures = {kLowest};
    const Architecture wanted = ProfileOf(options).architecture;
    if (!(wanted == kLowest)) architectures.push_back(wanted);
    return BuildModule(requests, options, architectures,
                       PlannedThreads(options), store);
  }
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return new_device_(ordinal);
  }

 private:
  const DeviceMaker new_device_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Backend> NewCudaBackend(DeviceMaker new_device,
                                        std::string_view name) {
  return std::make_unique<Cuda>(new_device, name);
}

}  // namespace encore::backends::cuda
