#include "encore/backends/region/first_fault.h"

#include <tuple>

namespace encore::backends {

void FirstFault::Add(const CheckFault& fault) {
  const auto order = [](const CheckFault& f) {
    return std::tuple(f.node, f.index.position, f.component);
  };
  if (!first_ || order(fault) < order(*first_)) first_ = fault;
}

Status FirstFault::Report(uint32_t* node) const {
  if (!first_) return OkStatus();
  if (node != nullptr) *node = first_->node;
  return IndexError(Mnemonic(first_->op), first_->index);
}

}  // namespace encore::backends
