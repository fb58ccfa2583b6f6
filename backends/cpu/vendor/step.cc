#include "encore/backends/cpu/vendor/step.h"

#include <algorithm>
#include <thread>

#include "encore/backends/cpu/vendor/small_blocks.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cpu {
namespace {

// Calls that are made beforehand: as many as may be under way at once.
size_t WarmCalls() {
  static const size_t calls = std::max(4u, std::thread::hardware_concurrency());
  return calls;
}

}  // namespace

struct VendorStep::Call {
  dnnl_stream_t stream = nullptr;
  std::array<dnnl_memory_t, kMostArguments> memory = {};
};

StatusOr<std::unique_ptr<VendorStep>> VendorStep::Make(
    const VendorLibrary& library, dnnl_primitive_desc_t description,
    std::span<const Argument> arguments) {
  std::unique_ptr<VendorStep> step(new VendorStep(library));
  Status status = OkStatus();
  for (const Argument& argument : arguments) {
    dnnl_memory_desc_t layout = nullptr;
    status.Update(ToStatus(library,
                           library.memory_desc_clone(&layout, argument.layout),
                           "layout"));
    if (layout == nullptr) break;
    step->roles_.push_back(argument.role);
    step->layouts_.push_back(layout);
  }
  if (status.ok()) {
    status = ToStatus(library,
                      library.primitive_create(&step->primitive_, description),
                      "primitive");
  }
  library.primitive_desc_destroy(description);
  ENCORE_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < std::min(kKept, WarmCalls()); ++i) {
    ENCORE_ASSIGN_OR_RETURN(step->calls_[i], step->NewCall());
  }
  return step;
}

VendorStep::~VendorStep() {
  for (std::atomic<Call*>& kept : calls_) Delete(kept.load());
  for (const dnnl_memory_desc_t layout : layouts_) {
    library_.memory_desc_destroy(layout);
  }
  if (primitive_ != nullptr) library_.primitive_destroy(primitive_);
}

StatusOr<VendorStep::Call*> VendorStep::NewCall() const {
  auto* const call = new Call;
  Status status =
      ToStatus(library_,
               library_.stream_create(&call->stream, library_.engine,
                                      dnnl_stream_default_flags),
               "stream");
  for (size_t i = 0; i < layouts_.size(); ++i) {
    status.Update(
        ToStatus(library_,
                 library_.memory_create(&call->memory[i], layouts_[i],
                                        library_.engine, DNNL_MEMORY_NONE),
                 "memory"));
  }
  if (status.ok()) return call;
  Delete(call);
  return status;
}

void VendorStep::Delete(Call* call) const {
  if (call == nullptr) return;
  for (const dnnl_memory_t memory : call->memory) {
    if (memory != nullptr) library_.memory_destroy(memory);
  }
  if (call->stream != nullptr) library_.stream_destroy(call->stream);
  delete call;
}

Status VendorStep::Run(std::span<void* const> data) const {
  Call* call = nullptr;
  for (size_t i = 0; i < kKept && call == nullptr; ++i) {
    if (calls_[i].load(std::memory_order_relaxed) != nullptr) {
      call = calls_[i].exchange(nullptr, std::memory_order_acquire);
    }
  }
  if (call == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(call, NewCall());
  }
  std::array<dnnl_exec_arg_t, kMostArguments> arguments;
  dnnl_status_t status = dnnl_success;
  for (size_t i = 0; i < roles_.size() && status == dnnl_success; ++i) {
    status = library_.memory_set_data_handle(call->memory[i], data[i]);
    arguments[i] = {roles_[i], call->memory[i]};
  }
  if (status == dnnl_success) {
    const small_blocks::Scope scope;
    status = library_.primitive_execute(primitive_, call->stream,
                                        static_cast<int>(roles_.size()),
                                        arguments.data());
  }
  for (size_t i = 0; i < kKept && call != nullptr; ++i) {
    Call* none = nullptr;
    if (calls_[i].compare_exchange_strong(none, call, std::memory_order_release,
                                          std::memory_order_relaxed)) {
      call = nullptr;
    }
  }
  Delete(call);
  return ToStatus(library_, status, "execute");
}

}  // namespace encore::backends::cpu
