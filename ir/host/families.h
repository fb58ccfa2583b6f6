// What the files of this folder give each other.
#ifndef ENCORE_IR_HOST_FAMILIES_H_
#define ENCORE_IR_HOST_FAMILIES_H_

#include <string_view>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"

namespace encore::host {

using Literals = std::vector<Literal>;

struct HostContext {
  Op op;
  const Attributes& attributes;
  Literals& operands;

  template <typename Attrs>
  const Attrs& attrs() const {
    return attributes.Get<Attrs>();
  }
  Literal& operand(size_t i) const { return operands[i]; }
  // InvalidArgument: "mnemonic: pieces".
  template <typename... Pieces>
  Status Error(const Pieces&... pieces) const {
    return InvalidArgumentError(StrCat(op, ": ", pieces...));
  }
};

// Operators on sequences and optionals, on strings, and on image files.
// REQUIRES one of theirs.
StatusOr<Literals> ApplySequenceOp(const HostContext& context);
StatusOr<Literals> ApplyStringOp(const HostContext& context);
StatusOr<Literals> DecodeImage(const HostContext& context);

}  // namespace encore::host

#endif  // ENCORE_IR_HOST_FAMILIES_H_
