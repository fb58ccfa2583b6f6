#include "encore/backends/cpu/device.h"

#include <map>
#include <utility>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/host_device.h"

namespace encore::backends::cpu {
namespace {

using runtime::LaunchContext;
using runtime::LoadRequest;

class GeneratedKernel : public runtime::Kernel {
 public:
  GeneratedKernel(std::shared_ptr<const Image> image, KernelFunction function,
                  int64_t partitions)
      : image_(std::move(image)),
        function_(function),
        partitions_(partitions) {}

  Status Launch(const LaunchContext& context) const override {
    if (partitions_ == 1) {
      function_(context.buffers, context.args, 0, &Helpers());
    } else {
      context.threads->ParallelFor(partitions_, [&](int64_t partition) {
        function_(context.buffers, context.args, partition, &Helpers());
      });
    }
    return OkStatus();
  }

 private:
  std::shared_ptr<const Image> image_;
  KernelFunction function_;
  int64_t partitions_;
};

class CpuDevice : public runtime::HostDevice {
 public:
  CpuDevice() : HostDevice("cpu") {}

  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const LoadRequest> requests,
      runtime::ThreadPool* threads) override;
};

// The images of one Load by the address of their bytes.
using Images = std::map<const std::byte*, std::shared_ptr<const Image>>;

StatusOr<std::unique_ptr<runtime::Kernel>> LoadGenerated(
    const LoadRequest& request, Images* images) {
  const runtime::Program& program = *request.program;
  ENCORE_ASSIGN_OR_RETURN(const GeneratedParams params,
                          DecodeGenerated(program.params));
  if (params.helper_version > kHelperVersion) {
    return FailedPreconditionError(
        StrCat("generated code wants helpers of version ",
               params.helper_version, ", this release has ", kHelperVersion));
  }
  std::shared_ptr<const Image>& image = (*images)[request.artefact.data()];
  if (image == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(image,
                            Image::Load(request.artefact, params.image_digest));
  }
  const void* entry = image->Find(program.entry);
  if (entry == nullptr) {
    return NotFoundError(StrCat("the image has no kernel ", program.entry));
  }
  return std::unique_ptr<runtime::Kernel>(new GeneratedKernel(
      image, reinterpret_cast<KernelFunction>(const_cast<void*>(entry)),
      params.partitions));
}

StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> CpuDevice::Load(
    std::span<const LoadRequest> requests, runtime::ThreadPool* threads) {
  Images images;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels;
  kernels.reserve(requests.size());
  for (const LoadRequest& request : requests) {
    ENCORE_RETURN_IF_ERROR(CheckRequirements(request.program->requirements));
    ENCORE_ASSIGN_OR_RETURN(auto kernel, LoadGenerated(request, &images));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

std::unique_ptr<runtime::Device> NewCpuDevice() {
  return std::make_unique<CpuDevice>();
}

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  if (ordinal != 0) return NotFoundError("there is one CPU, number 0");
  return NewCpuDevice();
}

}  // namespace encore::backends::cpu
