// What a GraphBuilder's methods take and give: values, and numbers in their
// place. Include builder.h.
#ifndef ENCORE_IR_BUILD_BUILDER_VALUE_H_
#define ENCORE_IR_BUILD_BUILDER_VALUE_H_

#include <cstdint>
#include <type_traits>
#include <variant>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

class GraphBuilder;

// A value of the graph that a builder writes. Invalid after an error; its type
// is then f32[].
class Value {
 public:
  Value() = default;
  bool valid() const { return id_.valid(); }
  ValueId id() const { return id_; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  // The literal, where it is a constant.
  const Literal* constant() const;

 private:
  friend class GraphBuilder;
  Value(const GraphBuilder* builder, ValueId id) : builder_(builder), id_(id) {}
  const GraphBuilder* builder_ = nullptr;
  ValueId id_;
};

// A value, or a number that takes the dtype of the operand beside it.
class Operand {
 public:
  // NOLINTBEGIN: conversions are what it is for.
  Operand(Value value) : content_(value) {}
  template <typename T>
    requires std::is_floating_point_v<T>
  Operand(T number) : content_(static_cast<double>(number)) {}
  template <typename T>
    requires std::is_integral_v<T>
  Operand(T number) : content_(static_cast<int64_t>(number)) {}
  // NOLINTEND
 private:
  friend class GraphBuilder;
  std::variant<Value, double, int64_t> content_;
};

}  // namespace encore

#endif  // ENCORE_IR_BUILD_BUILDER_VALUE_H_
