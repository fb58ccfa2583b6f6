// HostObject: the value of a slot that is no flat tensor: a string tensor, a
// sequence of tensors, or an optional.
//
// Host objects live in host memory only, are owned by the replayer (inputs by
// the caller), and reach kernels by address like any buffer does. The tensors
// in one are literals: a copy of the object shares them, and they are freed
// with the last object that has them. Kernels that make one allocate it.
//
// A kernel may take the value of an object that it reads for good, where its
// launch lists the slot among the writes too (Take).
#ifndef ENCORE_RUNTIME_REPLAY_HOST_OBJECT_H_
#define ENCORE_RUNTIME_REPLAY_HOST_OBJECT_H_

#include <utility>

#include "encore/ir/types/literal.h"

namespace encore::runtime {

struct HostObject {
  Literal value;

  // The value, leaving an empty one of its type.
  Literal Take() {
    return std::exchange(value,
                         value.kind() == ValueKind::kTensor
                             ? Literal(value.dtype(), {0})
                             : Literal::Absent(value.dtype(), value.kind()));
  }

  bool operator==(const HostObject&) const = default;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_HOST_OBJECT_H_
