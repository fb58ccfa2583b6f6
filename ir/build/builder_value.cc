#include "encore/ir/build/builder_value.h"

#include "encore/ir/build/builder.h"

namespace encore {

const TensorType& Value::type() const {
  static const TensorType invalid;
  return valid() ? builder_->graph().type(id_) : invalid;
}

const Literal* Value::constant() const {
  return valid() ? builder_->graph().constant(id_) : nullptr;
}

}  // namespace encore
