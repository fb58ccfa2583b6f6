// ElementShape: what is known, while a model is imported, of the shapes that
// the tensors in a sequence or optional have.
//
// Types of host objects do not say; but what is taken out of one must have a
// rank, and the more of its extents are known the better.
#ifndef ENCORE_IR_IMPORT_ONNX_SCOPE_ELEMENT_SHAPE_H_
#define ENCORE_IR_IMPORT_ONNX_SCOPE_ELEMENT_SHAPE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

struct ElementShape {
  enum class Kind : uint8_t {
    kNone,    // there are no tensors
    kRanked,  // all have this rank
    kMixed,   // nothing is known
  };
  Kind kind = Kind::kMixed;
  // Of kRanked: extents that all have; nothing where they differ.
  std::vector<std::optional<int64_t>> dims = {};

  static ElementShape None() { return {Kind::kNone}; }
  static ElementShape Of(const Shape& shape);

  bool operator==(const ElementShape&) const = default;
};

// What holds for the tensors of both.
ElementShape Join(const ElementShape& a, const ElementShape& b);

// By host object of one graph under construction. What is made of other values
// is found from its node; arguments, results of control flow and what bodies
// are given are set.
class ElementShapes {
 public:
  // REQUIRES a host object of `graph`, the same for all calls. Amortized, what
  // its node costs.
  const ElementShape& Of(const encore::Graph& graph, ValueId object);
  void Set(Value object, ElementShape shape);

 private:
  // REQUIRES that operands are known.
  ElementShape Find(const encore::Graph& graph, ValueId object);

  std::map<ValueId, ElementShape> known_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SCOPE_ELEMENT_SHAPE_H_
