#include "encore/backends/cuda/runtime/context.h"

#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Errors after which every call of the context fails.
bool IsLost(Result result) {
  switch (result) {
    case Result::kEccUncorrectable:
    case Result::kNvlinkUncorrectable:
    case Result::kIllegalAddress:
    case Result::kLaunchTimeout:
    case Result::kAssert:
    case Result::kHardwareStackError:
    case Result::kInvalidPc:
    case Result::kLaunchFailed:
      return true;
    default:
      return false;
  }
}

}  // namespace

StatusOr<std::shared_ptr<const Context>> Context::New(
    std::shared_ptr<const Driver> driver, int ordinal, CUcontext callers,
    std::string cupti) {
  std::shared_ptr<Context> context(
      new Context(std::move(driver), ordinal, std::move(cupti)));
  context->handle_ = callers;
  if (callers != nullptr) return context;
  const DriverTable& api = context->api();
  DeviceHandle device = 0;
  ENCORE_RETURN_IF_ERROR(
      context->ToStatus(api.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  CUcontext handle = nullptr;
  ENCORE_RETURN_IF_ERROR(
      context->ToStatus(api.cuDevicePrimaryCtxRetain(&handle, device),
                        "cuDevicePrimaryCtxRetain"));
  context->handle_ = handle;
  context->retained_ = true;
  return context;
}

Context::~Context() {
  if (retained_) (void)api().cuDevicePrimaryCtxRelease(ordinal_);
}

Context::Scope::Scope(const Context& context) : api_(context.api()) {
  (void)api_.cuCtxGetCurrent(&before_);
  if (before_ == context.handle()) return;
  changed_ = api_.cuCtxSetCurrent(context.handle()) == Result::kSuccess;
}

Context::Scope::~Scope() {
  if (changed_) (void)api_.cuCtxSetCurrent(before_);
}

Status Context::ToStatus(Result result, std::string_view what) const {
  if (result == Result::kSuccess) return OkStatus();
  const Status status =
      driver_->ToStatus(result, StrCat("device ", ordinal_, ": ", what));
  if (!IsLost(result)) return status;
  return MakeStatus(status.code(),
                    StrCat(Message(status),
                           "; the device is lost to this process, start it "
                           "again"));
}

}  // namespace encore::backends::cuda
