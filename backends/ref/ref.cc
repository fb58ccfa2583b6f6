#include "encore/backends/ref/ref.h"

#include <algorithm>
#include <iterator>

#include "encore/backends/ref/device.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/work.h"
#include "encore/ir/support/sha256.h"

namespace encore::backends::ref {
namespace {

// Seconds of a launch and of an operation: rough figures for an interpreter.
constexpr double kLaunchSeconds = 2e-6;
constexpr double kOperationSeconds = 50e-9;

class Ref : public Backend {
 public:
  std::string_view name() const override { return "ref"; }

  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions&) const override {
    return {{"backend", "ref"}};
  }

  bool Uses(std::string_view option) const override {
    return option != "precision" && option != "cpu_kernels" &&
           option != "cuda_kernels" && option != "machine" &&
           option != "tune_seconds";
  }

  std::span<const DType> dtypes() const override {
    static const std::vector<DType>* const computed = [] {
      auto* list = new std::vector<DType>;
      std::copy_if(AllDTypes().begin(), AllDTypes().end(),
                   std::back_inserter(*list),
                   [](DType dtype) { return !IsString(dtype); });
      return list;
    }();
    return *computed;
  }

  bool supports_symbolic_sizes() const override { return true; }
  bool uses_host_memory() const override { return false; }

  std::vector<Candidate> Candidates(const KernelRequest& request,
                                    const CompileOptions&) const override {
    const Work work =
        EstimateWork(*request.region, TypicalSizes(request.symbols));
    Candidate candidate;
    candidate.kernel = "interpreter";
    candidate.seconds =
        kLaunchSeconds +
        kOperationSeconds * (work.flops + work.read_bytes + work.written_bytes);
    return {candidate};
  }

  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions&,
                                   ArtifactStore*) const override {
    CompiledModule module;
    for (const CompileRequest& request : requests) {
      CompiledKernel kernel;
      kernel.code.artifact = static_cast<int>(module.artifacts.size());
      kernel.code.entry = "region";
      module.artifacts.push_back({EncodeRegion(*request.kernel.region), false});
      kernel.code.identity = Sha256Of(module.artifacts.back().bytes).ToBytes();
      module.kernels.push_back(std::move(kernel));
    }
    return module;
  }

  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return ref::NewDevice(ordinal);
  }
};

}  // namespace

const Backend& RefBackend() {
  static const Ref* const backend = new Ref;
  return *backend;
}

}  // namespace encore::backends::ref
