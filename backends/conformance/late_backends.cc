#include "encore/backends/conformance/late_backends.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/conformance/wrapped_backend.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/testing/deferred_device.h"

namespace encore::backends {
namespace {

const std::shared_ptr<runtime::DeferredWork>& Work() {
  static const auto* const work = [] {
    const char* seed = std::getenv("ENCORE_LATE_SEED");
    return new std::shared_ptr<runtime::DeferredWork>(runtime::NewDeferredWork(
        seed == nullptr ? 1 : static_cast<uint32_t>(std::atol(seed))));
  }();
  return *work;
}

class Late : public WrappedBackend {
 public:
  explicit Late(std::string_view kernels)
      : WrappedBackend(**FindBackend(kernels)),
        name_(StrCat("late_", kernels)) {}

  std::string_view name() const override { return name_; }
  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const override {
    auto target = inner().Target(options);
    target.emplace_back("devices", name_);
    return target;
  }
  bool Uses(std::string_view option) const override {
    return option == "ports" || inner().Uses(option);
  }
  bool uses_host_memory() const override { return false; }
  bool has_queues() const override { return true; }
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    ENCORE_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Device> kernels,
                            inner().NewDevice(ordinal));
    return std::make_unique<runtime::DeferredDevice>(
        std::move(kernels), Work(), runtime::DeferredOptions{name_, 4, true});
  }

 private:
  const std::string name_;
};

}  // namespace

std::span<const Backend* const> BackendsUnderTest() {
  static const auto* const backends = [] {
    auto* list = new std::vector<const Backend*>(AllBackends().begin(),
                                                 AllBackends().end());
    list->push_back(new Late("ref"));
    list->push_back(new Late("cpu"));
    return list;
  }();
  return *backends;
}

}  // namespace encore::backends
