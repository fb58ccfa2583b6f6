#include "encore/cache/testing/bounded_devices.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "encore/backends/devices.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/host_device.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::cache {
namespace {

using backends::Region;
using runtime::Kernel;
using runtime::LaunchContext;

constexpr int64_t kMostBytes = int64_t{64} << 20;
// Of a kernel on host objects.
constexpr int64_t kHostKernelWork = 1000;

// At least what interpreting the region takes, at most INT64_MAX.
int64_t WorkOf(const Region& region, std::span<const int64_t> symbols) {
  double points = static_cast<double>(
      1 + region.exprs.size() + region.accesses.size() + region.stages.size());
  for (const Dim& extent : region.extents) {
    const auto value = extent.Evaluate(symbols);
    if (!value) return INT64_MAX;
    points *= static_cast<double>(std::max<int64_t>(*value, 1));
  }
  return points < 1e15 ? static_cast<int64_t>(points) : INT64_MAX;
}

class BoundedKernel : public Kernel {
 public:
  BoundedKernel(std::unique_ptr<Kernel> kernel, std::optional<Region> region,
                std::shared_ptr<WorkBudget> budget)
      : kernel_(std::move(kernel)),
        region_(std::move(region)),
        budget_(std::move(budget)) {}

  Status Launch(const LaunchContext& context) const override {
    const int64_t work =
        region_ ? WorkOf(*region_, {context.args, region_->symbols})
                : kHostKernelWork;
    int64_t left = budget_->left;
    do {
      if (work > left) return ResourceExhaustedError("too much work");
    } while (!budget_->left.compare_exchange_weak(left, left - work));
    return kernel_->Launch(context);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const std::optional<Region> region_;
  const std::shared_ptr<WorkBudget> budget_;
};

class BoundedDevice : public runtime::HostDevice {
 public:
  BoundedDevice(std::unique_ptr<runtime::Device> device,
                std::shared_ptr<WorkBudget> budget)
      : HostDevice(std::string(device->backend())),
        device_(std::move(device)),
        budget_(std::move(budget)) {}

  bool runs_on_host() const override { return device_->runs_on_host(); }

  StatusOr<void*> Allocate(int64_t bytes) override {
    if (bytes < kMostBytes) return HostDevice::Allocate(bytes);
    return ResourceExhaustedError(StrCat("no memory for ", bytes, " bytes"));
  }

  StatusOr<std::vector<std::unique_ptr<Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool* threads) override {
    ENCORE_ASSIGN_OR_RETURN(auto kernels, device_->Load(requests, threads));
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::optional<Region> region;
      if (backend() == "ref") {
        ENCORE_ASSIGN_OR_RETURN(region,
                                backends::DecodeRegion(requests[i].artifact));
      }
      kernels[i] = std::make_unique<BoundedKernel>(std::move(kernels[i]),
                                                   std::move(region), budget_);
    }
    return kernels;
  }

 private:
  const std::unique_ptr<runtime::Device> device_;
  const std::shared_ptr<WorkBudget> budget_;
};

}  // namespace

StatusOr<std::vector<std::shared_ptr<runtime::Device>>> BoundedDevices(
    const runtime::CompiledGraph& graph, std::shared_ptr<WorkBudget> budget) {
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : graph.devices) {
    if (info.backend != "ref" && info.backend != "host") {
      return FailedPreconditionError(
          StrCat("code for ", Quote(info.backend), " is not run here"));
    }
    ENCORE_ASSIGN_OR_RETURN(auto device,
                            backends::NewDevice(info.backend, info.ordinal));
    devices.push_back(
        std::make_shared<BoundedDevice>(std::move(device), budget));
  }
  return devices;
}

}  // namespace encore::cache
