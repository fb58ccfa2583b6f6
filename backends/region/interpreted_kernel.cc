#include "encore/backends/region/interpreted_kernel.h"

#include <utility>
#include <vector>

#include "encore/backends/region/codec.h"
#include "encore/backends/region/interpreter.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends {
namespace {

class InterpretedKernel : public runtime::Kernel {
 public:
  explicit InterpretedKernel(Region region) : region_(std::move(region)) {}

  Status Launch(const runtime::LaunchContext& context) const override {
    std::vector<Buffer> buffers;
    const size_t count = region_.inputs.size() + region_.outputs.size();
    for (size_t i = 0; i < count; ++i) {
      buffers.push_back({context.buffers[i], context.sizes[i]});
    }
    const std::span<const Buffer> all = buffers;
    return Interpret(region_, {context.args, region_.symbols},
                     all.first(region_.inputs.size()),
                     all.subspan(region_.inputs.size()), context.failed_origin);
  }

 private:
  Region region_;
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Kernel>> LoadInterpretedKernel(
    const runtime::LoadRequest& request) {
  ENCORE_ASSIGN_OR_RETURN(Region region, DecodeRegion(request.artifact));
  const runtime::KernelBinary& program = *request.binary;
  if (program.reads != region.inputs.size() ||
      program.writes != region.outputs.size() ||
      program.args != region.symbols) {
    return DataLossError("a region of another arity than its program");
  }
  return std::unique_ptr<runtime::Kernel>(
      std::make_unique<InterpretedKernel>(std::move(region)));
}

}  // namespace encore::backends
