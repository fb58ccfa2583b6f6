// Subgraphs of a node as bodies of the graph under construction, or in place of
// the node.
//
// Bodies are closed: what an ONNX subgraph captures becomes an operand, but for
// constants and shape arithmetic, which are repeated inside.
#ifndef ENCORE_IR_IMPORT_ONNX_CONTROL_SUBGRAPHS_H_
#define ENCORE_IR_IMPORT_ONNX_CONTROL_SUBGRAPHS_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

// What subgraphs read of the scope around their node.
struct Captures {
  // Tensors, which become operands.
  std::vector<std::string_view> names;
  std::vector<Value> values;
  // What is known without a tensor.
  std::vector<std::string_view> known;
};

// InvalidArgument names what nothing produces.
StatusOr<Captures> FindCaptures(NodeContext& context,
                                std::initializer_list<const Graph*> graphs);

// A body under construction; `inputs` are its own, then what is captured.
struct Body {
  std::unique_ptr<GraphBuilder> builder;
  std::vector<Value> inputs, outputs;
  std::vector<ElementShape> elements;  // by output; of host objects

  StatusOr<encore::Graph> Build();
};

// An input of a body.
struct Formal {
  enum class Kind : uint8_t {
    kPlain,   // an input of the subgraph
    kBoxed,   // an input of the subgraph, a tensor, which comes in a box
    kHidden,  // none that the subgraph knows of; after all that it does
  };
  TensorType type;
  ElementShape elements = {};  // of host objects and boxes
  Kind kind = Kind::kPlain;
};

// InvalidArgument where an input of a subgraph is declared of another dtype,
// rank or, if `extents`, extent than the node gives. A loop's extents are often
// declared as they are in the first trip.
// Stops at kShapeMismatch where it is of another rank or extent.
Status CheckFormal(Scope& scope, const ValueInfo& input, const TensorType& type,
                   bool extents = false);

struct BodyOptions {
  // Outputs of two ranks are left invalid, not refused.
  bool mixed = false;
  // Where not null, gets the body's obstacle if it cannot be made.
  Obstacle* obstacle = nullptr;
};

// The body that `graph` is below a node of `outer`: its inputs are `formals`,
// then come the captured tensors. What it gives in a box is still to be put
// into one. An error is the node's too, and stops it where the body stopped; a
// caller that can go on without the body asks for `obstacle` in place of that.
StatusOr<Body> MakeBody(NodeContext& context, const GraphBuilder& outer,
                        const Graph& graph, const Captures& captures,
                        std::span<const Formal> formals,
                        BodyOptions options = {});

// Whether every extent of a body's value can be said outside of the body: it
// has none of the symbols that came after the first `symbols`, which there were
// before the body was made.
bool IsKnownOutside(const Shape& shape, size_t symbols);

// The nodes of `graph` in place of the node, with `formals` for its inputs: its
// outputs. Errors and `obstacle` as of MakeBody.
StatusOr<std::vector<Value>> Inline(NodeContext& context, const Graph& graph,
                                    std::span<const Value> formals,
                                    Obstacle* obstacle = nullptr);

// Binds the node's outputs, in order.
Status BindOutputs(NodeContext& context, std::span<const Value> values);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONTROL_SUBGRAPHS_H_
