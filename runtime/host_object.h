// HostObject: the value of a slot that is no flat tensor: a string tensor, a
// sequence of tensors, or an optional tensor.
//
// Host objects live in host memory only, are owned by the replayer (inputs by
// the caller), and reach kernels by address like any buffer does. Operations on
// them allocate.
#ifndef ENCORE_RUNTIME_HOST_OBJECT_H_
#define ENCORE_RUNTIME_HOST_OBJECT_H_

#include <vector>

#include "encore/ir/literal.h"

namespace encore::runtime {

struct HostObject {
  // The tensors of a sequence; the string tensor, or the optional's value: none
  // or one.
  std::vector<Literal> elements;

  bool operator==(const HostObject&) const = default;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_HOST_OBJECT_H_
