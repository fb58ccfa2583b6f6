#include "encore/backends/ref/device.h"

#include <vector>

#include "encore/backends/region/codec.h"
#include "encore/backends/region/interpreter.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/host_device.h"

namespace encore::backends::ref {
namespace {

class RefKernel : public runtime::Kernel {
 public:
  explicit RefKernel(Region region) : region_(std::move(region)) {}

  Status Launch(const runtime::LaunchContext& context) const override {
    std::vector<Buffer> buffers;
    const size_t count = region_.inputs.size() + region_.outputs.size();
    for (size_t i = 0; i < count; ++i) {
      buffers.push_back({context.buffers[i], context.sizes[i]});
    }
    const std::span<const Buffer> all = buffers;
    return Interpret(region_, {context.args, region_.symbols},
                     all.first(region_.inputs.size()),
                     all.subspan(region_.inputs.size()));
  }

 private:
  Region region_;
};

class RefDevice : public runtime::HostDevice {
 public:
  RefDevice() : HostDevice("ref") {}

  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool*) override {
    std::vector<std::unique_ptr<runtime::Kernel>> kernels;
    for (const runtime::LoadRequest& request : requests) {
      ENCORE_ASSIGN_OR_RETURN(Region region, DecodeRegion(request.artefact));
      const runtime::Program& program = *request.program;
      if (program.reads != region.inputs.size() ||
          program.writes != region.outputs.size() ||
          program.args != region.symbols) {
        return DataLossError("a region of another arity than its program");
      }
      kernels.push_back(std::make_unique<RefKernel>(std::move(region)));
    }
    return kernels;
  }
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  if (ordinal > 0) {
    return NotFoundError(StrCat("no device ref:", ordinal, "; there is ref:0"));
  }
  return std::unique_ptr<runtime::Device>(std::make_unique<RefDevice>());
}

}  // namespace encore::backends::ref
