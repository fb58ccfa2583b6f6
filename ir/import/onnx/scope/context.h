// NodeContext: what a converter sees of one ONNX node.
//
// A converter reads inputs and attributes, emits nodes and binds outputs.
// Emitted nodes carry the node's name as origin; a shape that does not fit
// stays in the builder as its first error, which the importer reports with the
// node.
#ifndef ENCORE_IR_IMPORT_ONNX_SCOPE_CONTEXT_H_
#define ENCORE_IR_IMPORT_ONNX_SCOPE_CONTEXT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/format/attribute_reader.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/scope/scope.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// Imports the subgraphs of a node, for its converter.
class BodyImporter {
 public:
  virtual ~BodyImporter() = default;
  // The initializers and nodes of `graph` into `scope`, in which its inputs and
  // what it captures are bound.
  virtual Status ImportBody(const Graph& graph, Scope& scope) = 0;
  // Whether the caller fixed extents that the model leaves open. Then a branch
  // of the model may be one that is never taken with such extents.
  virtual bool extents_given() const = 0;
};

// The axes first … rank - 1.
Ints AxesFrom(int64_t first, int64_t rank);

class NodeContext {
 public:
  // `bodies` may be null where the operator has no subgraphs.
  NodeContext(const Node& node, Scope& scope, const DataSource& source,
              BodyImporter* bodies = nullptr)
      : node_(node),
        scope_(scope),
        source_(source),
        bodies_(bodies),
        attributes_(node) {}

  const Node& node() const { return node_; }
  AttributeReader& attributes() { return attributes_; }
  const DataSource& source() const { return source_; }
  BodyImporter& bodies() { return *bodies_; }
  Scope& scope() { return scope_; }
  GraphBuilder& builder() { return scope_.builder(); }

  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  // Whether input i is given (an optional input may be left out by an empty
  // name).
  bool HasInput(int i) const {
    return i < input_count() && !node_.inputs[i].empty();
  }
  bool WantsOutput(int i) const {
    return i < static_cast<int>(node_.outputs.size()) &&
           !node_.outputs[i].empty();
  }

  // InvalidArgument where the number of inputs or outputs given is outside the
  // bounds, or one of the first `least` inputs is left out.
  Status CheckInputs(int least, int most) const;
  Status CheckOutputs(int most) const;

  // InvalidArgument where input i, which the error calls `what`, has another
  // rank than 1.
  Status CheckVector(int i, std::string_view what);

  // Input i as a tensor. REQUIRES HasInput(i).
  Value Input(int i) { return scope_.Tensor(node_.inputs[i]); }
  // Every given input as a tensor.
  std::vector<Value> Inputs();

  // Input i's value, which must be known: Unimplemented says that it depends on
  // data.
  StatusOr<Literal> ConstantInput(int i, std::string_view what);
  StatusOr<std::vector<int64_t>> IntsInput(int i, std::string_view what);
  StatusOr<std::vector<double>> FloatsInput(int i, std::string_view what);
  // Input i as dims, constant or symbolic.
  StatusOr<Dims> DimsInput(int i, std::string_view what);

  // References to types and shapes stay valid as the graph grows.
  const Shape& shape(Value value) const { return value.shape(); }
  int rank(Value value) const { return value.rank(); }
  DType dtype(Value value) const { return value.dtype(); }

  // `axis`, which may count from the end, within a rank; the error names
  // `what`.
  StatusOr<int64_t> Axis(int64_t axis, int64_t rank,
                         std::string_view what) const;
  // The attribute axis, or `fallback`, within a rank: not negative.
  StatusOr<int64_t> AxisAttribute(int64_t fallback, int64_t rank);
  // Axis() of each; sorted, and InvalidArgument where one repeats.
  StatusOr<Ints> AxesList(const Ints& axes, int64_t rank,
                          std::string_view what) const;

  // Appends a node with one result.
  Value Emit(Op op, std::initializer_list<Value> operands,
             Attributes attributes = NoneAttrs()) {
    return builder().Node1(op, operands, std::move(attributes));
  }
  Value Emit(Op op, const std::vector<Value>& operands,
             Attributes attributes = NoneAttrs()) {
    return builder().Node(op, operands, std::move(attributes))[0];
  }
  // A scalar constant of `dtype`; of strings the empty one.
  Value Scalar(DType dtype, double value);
  // `value` filled to a shape.
  Value Fill(Value scalar, const Shape& shape);
  Value Reshape(Value value, Dims shape) {
    return builder().Reshape(value, Shape(std::move(shape)));
  }
  // `value` with dims of 1 put in at `axes` (positions in the result,
  // ascending).
  Value Unsqueeze(Value value, const Ints& axes);
  // The element of `x` at indices[i, …] along `axis`, at i, … along the others:
  // both of one rank, and of the same extents but for the axis.
  Value TakeAlong(Value x, Value indices, int64_t axis,
                  OutOfRange out_of_range = OutOfRange::kClamp);
  // A vector of one entry per channel, shaped to spread over [N, C, spatial…].
  Value PerChannel(Value vector, int rank);

  // Binds output i; an output nobody named is dropped. A value that folded to a
  // constant is bound as one.
  Status Output(int i, Value value);
  Status Output(int i, Bound bound);

  // `input` or `attribute` trouble: InvalidArgument with the message.
  static Status Error(std::string_view message) {
    return InvalidArgumentError(message);
  }
  // Inputs whose shapes do not go together: with others the node may be right.
  Status ShapeMismatch(std::string_view message) {
    return scope_.Stop(Obstacle::kShapeMismatch, InvalidArgumentError(message));
  }
  // Something data-dependent is needed now: Unimplemented with the message.
  Status Unknown(std::string_view message) {
    return scope_.Stop(Obstacle::kUnknown, UnimplementedError(message));
  }

 private:
  const Node& node_;
  Scope& scope_;
  const DataSource& source_;
  BodyImporter* bodies_;
  AttributeReader attributes_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SCOPE_CONTEXT_H_
