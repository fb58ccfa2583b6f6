#include "encore/backends/cpu/device.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "encore/backends/absent.h"
#include "encore/backends/cpu/checked_call.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/region/interpreted_kernel.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/host_device.h"

namespace encore::backends::cpu {
namespace {

using runtime::LaunchContext;
using runtime::LoadRequest;

class GeneratedKernel : public runtime::Kernel {
 public:
  GeneratedKernel(std::shared_ptr<const Image> image, KernelFunction function,
                  const GeneratedParams& params, size_t buffers)
      : image_(std::move(image)),
        function_(function),
        partitions_(params.partitions),
        any_partitions_(params.any_partitions != 0),
        checks_(params.helper_version >= kCheckHelperVersion),
        buffers_(buffers) {}

  Status Launch(const LaunchContext& context) const override {
    if (!checks_) {
      Run(context, Helpers());
      return OkStatus();
    }
    CheckedCall call;
    Run(context, call.helpers());
    return call.Report(context.failed_origin);
  }

 private:
  void Run(const LaunchContext& context, const HelperTable& helpers) const {
    if (any_partitions_) return RunSized(context, helpers);
    if (partitions_ == 1) {
      function_(context.buffers, context.args, 0, &helpers);
    } else {
      context.threads->ParallelFor(partitions_, [&](int64_t partition) {
        function_(context.buffers, context.args, partition, &helpers);
      });
    }
  }

  void RunSized(const LaunchContext& context,
                const HelperTable& helpers) const {
    int64_t largest = 0;
    for (size_t i = 0; i < buffers_; ++i) {
      largest = std::max(largest, context.sizes[i]);
    }
    const int64_t count =
        std::clamp<int64_t>(largest / kGrainBytes, 1, partitions_);
    if (count == 1) {
      function_(context.buffers, context.args, int64_t{1} << 32, &helpers);
      return;
    }
    context.threads->ParallelFor(count, [&](int64_t partition) {
      function_(context.buffers, context.args, partition + (count << 32),
                &helpers);
    });
  }

  std::shared_ptr<const Image> image_;
  KernelFunction function_;
  int64_t partitions_;
  bool any_partitions_;
  bool checks_;
  size_t buffers_;
};

class CpuDevice : public runtime::HostDevice {
 public:
  CpuDevice() : HostDevice("cpu") {}

  bool runs_on_host() const override { return true; }
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const LoadRequest> requests,
      runtime::ThreadPool* threads) override;
};

// The images of one Load by the address of their bytes.
using Images = std::map<const std::byte*, std::shared_ptr<const Image>>;

// The program's function in its image.
struct Function {
  std::shared_ptr<const Image> image;
  KernelFunction call = nullptr;
};

StatusOr<Function> FindFunction(const LoadRequest& request,
                                const GeneratedParams& params, Images* images) {
  if (params.helper_version > kHelperVersion) {
    return FailedPreconditionError(
        StrCat("generated code wants helpers of version ",
               params.helper_version, ", this release has ", kHelperVersion));
  }
  std::shared_ptr<const Image>& image = (*images)[request.artifact.data()];
  if (image == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(image,
                            Image::Load(request.artifact, params.image_digest));
  }
  const std::string& name = request.binary->entry;
  const void* entry = image->Find(name);
  if (entry == nullptr) {
    return DataLossError(StrCat("the image has no kernel ", name));
  }
  return Function{image,
                  reinterpret_cast<KernelFunction>(const_cast<void*>(entry))};
}

Status CheckAll(std::span<const std::string> requirements) {
  std::vector<std::string> features;
  for (const std::string& requirement : requirements) {
    if (IsVendorRequirement(requirement)) {
      ENCORE_RETURN_IF_ERROR(CheckVendorRequirement(requirement));
    } else {
      features.push_back(requirement);
    }
  }
  return CheckRequirements(features);
}

StatusOr<std::unique_ptr<runtime::Kernel>> LoadOne(const LoadRequest& request,
                                                   Images* images) {
  const runtime::KernelBinary& program = *request.binary;
  ENCORE_RETURN_IF_ERROR(CheckAll(program.requirements));
  if (program.entry == kInterpretedEntry && program.params.empty()) {
    return LoadInterpretedKernel(request);
  }
  if (IsVendor(program.params)) {
    ENCORE_ASSIGN_OR_RETURN(const DecodedVendor vendor,
                            DecodeVendor(program.params));
    Function epilogue;
    if (vendor.program.epilogue.has_value()) {
      ENCORE_ASSIGN_OR_RETURN(
          epilogue, FindFunction(request, *vendor.program.epilogue, images));
    }
    return LoadVendor(vendor, program, epilogue.call,
                      std::move(epilogue.image));
  }
  ENCORE_ASSIGN_OR_RETURN(const GeneratedParams params,
                          DecodeGenerated(program.params));
  ENCORE_ASSIGN_OR_RETURN(Function function,
                          FindFunction(request, params, images));
  return std::make_unique<GeneratedKernel>(std::move(function.image),
                                           function.call, params,
                                           program.reads + program.writes);
}

StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> CpuDevice::Load(
    std::span<const LoadRequest> requests, runtime::ThreadPool* threads) {
  Images images;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels;
  kernels.reserve(requests.size());
  for (const LoadRequest& request : requests) {
    ENCORE_ASSIGN_OR_RETURN(auto kernel, LoadOne(request, &images));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

std::unique_ptr<runtime::Device> NewCpuDevice() {
  return std::make_unique<CpuDevice>();
}

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  if (ordinal > 0) return NoDevice("cpu", ordinal);
  return NewCpuDevice();
}

}  // namespace encore::backends::cpu
