#include "encore/backends/cuda/runtime/decision_kernel.h"

#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {
namespace {

// cudaGraphSetConditional is the driver's.
constexpr char kModule[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional
(
  .param .b64 cudaGraphSetConditional_param_0,
  .param .b32 cudaGraphSetConditional_param_1
)
;
.visible .entry decide(.param .u64 handle, .param .u64 selector)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [handle];
  ld.param.u64 %rd2, [selector];
  cvta.to.global.u64 %rd3, %rd2;
  ld.global.u8 %r1, [%rd3];
  {
  .param .b64 param0;
  st.param.b64 [param0+0], %rd1;
  .param .b32 param1;
  st.param.b32 [param1+0], %r1;
  call.uni cudaGraphSetConditional, (param0, param1);
  }
  ret;
}
)";

}  // namespace

StatusOr<std::shared_ptr<const DecisionKernel>> DecisionKernel::Load(
    std::shared_ptr<const Context> context) {
  std::shared_ptr<DecisionKernel> kernel(
      new DecisionKernel(std::move(context)));
  const Context& of = *kernel->context_;
  const Context::Scope scope(of);
  ENCORE_RETURN_IF_ERROR(
      of.ToStatus(of.api().cuModuleLoadDataEx(&kernel->module_, kModule, 0,
                                              nullptr, nullptr),
                  "cuModuleLoadDataEx"));
  ENCORE_RETURN_IF_ERROR(
      of.ToStatus(of.api().cuModuleGetFunction(&kernel->function_,
                                               kernel->module_, "decide"),
                  "cuModuleGetFunction"));
  return kernel;
}

DecisionKernel::~DecisionKernel() {
  if (module_ == nullptr) return;
  const Context::Scope scope(*context_);
  (void)context_->api().cuModuleUnload(module_);
}

}  // namespace encore::backends::cuda
