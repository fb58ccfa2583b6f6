// GraphBuilder: writing a graph by hand.
//
//   GraphBuilder g("mlp");
//   const Dim n = g.Symbol("N", 1, 64);
//   Value x = g.Input("x", {DType::kF32, {n, 784}});
//   Value w = g.Parameter("w", {DType::kF32, {784, 128}});
//   Value y = g.Relu(g.Add(g.MatMul(x, w), 0.5));
//   StatusOr<Graph> graph = g.Build({{"y", y}});
//
// No call fails by itself: the first error is kept, with the origin at which it
// happened, everything computed from an invalid value is invalid, and Build
// returns that error. Binary operators broadcast as NumPy does and take C++
// numbers in the other operand's dtype. Axes may be negative, from the end.
// Lists of attributes (strides, padding, dilations, …) may be empty for their
// neutral value. Always-good rewrites (simplify.h) and reuse of equal nodes
// happen as nodes are added, unless the options say no.
//
// A builder stays where it is (values point to it) and is used by one thread.
#ifndef ENCORE_IR_BUILD_BUILDER_H_
#define ENCORE_IR_BUILD_BUILDER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encore/ir/build/builder_value.h"
#include "encore/ir/build/origin_scope.h"
#include "encore/ir/build/simplify.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

struct BuilderOptions {
  // Rewrite and share nodes as they are added.
  bool simplify = true;
  // Computes nodes whose operands are small constants; none leaves them.
  Folder folder = nullptr;
  // Nodes with more result elements than this are not folded.
  int64_t fold_limit = 1024;
};

// The shape that both broadcast to by NumPy's rule (dims are aligned at the
// end, 1 is repeated); nothing where there is none.
std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b);

class GraphBuilder {
 public:
  using Values = std::vector<Value>;
  // Writes a body: given its inputs, returns its outputs.
  using Body =
      std::function<Values(GraphBuilder& body, std::span<const Value> inputs)>;

  explicit GraphBuilder(std::string name = "main", BuilderOptions options = {});
  // Goes on with a graph (or a body made by Graph::NewBody).
  explicit GraphBuilder(Graph graph, BuilderOptions options = {});
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // The graph with these outputs, or the first error. The builder is spent.
  StatusOr<Graph> Build(
      std::initializer_list<std::pair<std::string, Value>> outputs);
  StatusOr<Graph> Build(std::span<const std::pair<std::string, Value>> outputs);

  const Status& status() const { return status_; }
  // Records an error of the caller's own, unless there is one already.
  Value Fail(const Status& status);
  const Graph& graph() const { return graph_; }
  const BuilderOptions& options() const { return options_; }
  // A value of graph().
  Value Wrap(ValueId id) const { return Value(this, id); }

  // The origin of nodes added while the scope lives.
  [[nodiscard]] OriginScope Origin(std::string_view origin) {
    return OriginScope(&origin_, origin);
  }
  const std::string& origin() const { return origin_; }

  // --- Sources.

  Dim Symbol(std::string name, int64_t lower = 0, int64_t upper = INT64_MAX,
             bool at_run_time = false);
  Value Input(std::string name, TensorType type);
  Value Parameter(std::string name, TensorType type,
                  std::optional<Literal> data = std::nullopt);
  Value Constant(Literal literal);
  // A scalar of `dtype`; an error where it cannot hold an integer's value.
  Value Scalar(DType dtype, double number);
  Value Scalar(DType dtype, int64_t number);
  Value Full(Shape shape, Value scalar) { return BroadcastTo(scalar, shape); }
  Value Iota(DType dtype, Shape shape, int64_t axis = 0);
  Value DimValues(Dims dims);
  // `values`, an i64 scalar or vector, whose elements are the values of `dims`,
  // symbols that are known at run time only; the message is what the run ends
  // with where one is out of bounds.
  Value DefineSymbols(Value values, Dims dims, std::string message = {});
  // `x`; where `condition`, a bool or i64 scalar, is not positive, the run ends
  // with the message.
  Value Assert(Value x, Value condition, std::string message);

  // --- Any op. Results are invalid after an error.

  Values Node(Op op, std::span<const Value> operands,
              Attributes attributes = NoneAttrs(),
              std::vector<Graph> bodies = {});
  Value Node1(Op op, std::initializer_list<Value> operands,
              Attributes attributes = NoneAttrs());
  Value Unary(Op op, Value x) { return Node1(op, {x}); }
  Value Binary(Op op, Operand a, Operand b, Attributes attrs = NoneAttrs());

// --- Elementwise. Abs(x), Add(a, b), …: every op without attributes.
#define ENCORE_UNARY(Name) \
  Value Name(Value x) { return Unary(Op::k##Name, x); }
#define ENCORE_BINARY(Name) \
  Value Name(Operand a, Operand b) { return Binary(Op::k##Name, a, b); }
#include "encore/ir/build/builder_methods.def"
#undef ENCORE_UNARY
#undef ENCORE_BINARY
  Value Compare(Operand a, Operand b, Comparison direction);
  Value Select(Value condition, Operand a, Operand b);
  Value Cast(Value x, DType dtype, bool saturate = false);
  Value Bitcast(Value x, DType dtype);
  Value LeakyRelu(Value x, double alpha = 0.01);
  Value Elu(Value x, double alpha = 1.0);
  Value Celu(Value x, double alpha = 1.0);
  Value Selu(Value x, double alpha = 1.67326319217681884765625,
             double beta = 1.05070102214813232421875);
  Value Gelu(Value x, bool tanh = false);
  Value HardSigmoid(Value x, double alpha = 0.2, double beta = 0.5);
  Value ThresholdedRelu(Value x, double alpha = 1.0);
  Value Clamp(Value x, Operand low, Operand high);

  // --- Shape and movement.

  Value Broadcast(Value x, Shape shape, Ints axes);
  Value BroadcastTo(Value x, const Shape& shape);
  // Every one in the shape that all broadcast to; false after an error.
  bool BroadcastTogether(std::span<Value> values);
  Value Reshape(Value x, Shape shape);
  // Without dims of extent 1 at `axes`; with such dims put at `axes` of the
  // result.
  Value Squeeze(Value x, const Ints& axes);
  Value Unsqueeze(Value x, const Ints& axes);
  Value Transpose(Value x, Ints permutation);
  Value TransposeMatrix(Value x);  // the last two dims swapped
  Value Slice(Value x, Dims starts, Dims limits, Ints strides = {});
  Value SliceAxis(Value x, int64_t axis, Dim start, Dim limit,
                  int64_t stride = 1);
  Value DynamicSlice(Value x, Value start, Dims sizes);
  Value DynamicUpdateSlice(Value x, Value update, Value start);
  Value Pad(Value x, Operand value, Dims low, Dims high, Ints interior = {});
  Value Concat(std::span<const Value> operands, int64_t axis);
  Value Concat(std::initializer_list<Value> operands, int64_t axis);
  Value Reverse(Value x, Ints axes);
  Value Gather(Value x, Value starts, GatherAttrs attrs);
  // Slices of `x` along `axis` at `indices`: NumPy's take. Indices are clamped.
  Value Take(Value x, Value indices, int64_t axis);
  Value Scatter(Value x, Value indices, Value updates, ScatterAttrs attrs);

  // --- Reductions, contractions, windows.

  Value Reduce(Value x, Combiner combiner, Ints axes, bool keep_dims = false);
  Value Sum(Value x, Ints axes, bool keep_dims = false);
  Value Mean(Value x, Ints axes, bool keep_dims = false);
  Value ArgReduce(Value x, ArgReduceAttrs attrs);
  Value Cumulative(Value x, CumulativeAttrs attrs);
  Value DotGeneral(Value lhs, Value rhs, AxisPairs contract,
                   AxisPairs batch = {});
  // NumPy's matmul.
  Value MatMul(Value a, Value b);
  Value Linear(Value x, Value weight, Value bias = {});
  Value Convolution(Value x, Value kernel, ConvolutionAttrs attrs = {});
  Value ReduceWindow(Value x, ReduceWindowAttrs attrs);
  Value MaxPool(Value x, PoolAttrs attrs);
  Value AvgPool(Value x, PoolAttrs attrs);

  // --- Normalization and attention. No bias, no mask: an empty Value.

  Value Softmax(Value x, int64_t axis = -1);
  Value LogSoftmax(Value x, int64_t axis = -1);
  Value LayerNorm(Value x, Value scale, Value bias = {}, int64_t axis = -1,
                  double epsilon = 1e-5);
  Value RmsNorm(Value x, Value scale, int64_t axis = -1, double epsilon = 1e-5);
  Value BatchNorm(Value x, Value scale, Value bias, Value mean, Value variance,
                  double epsilon = 1e-5);
  Value InstanceNorm(Value x, Value scale, Value bias, double epsilon = 1e-5);
  Value GroupNorm(Value x, Value scale, Value bias, int64_t groups,
                  double epsilon = 1e-5);
  Value Attention(Value query, Value key, Value value, Value mask = {},
                  AttentionAttrs attrs = {});

  // --- Control flow. Bodies are closed: they use their inputs only.

  Values If(Value condition, std::span<const Value> operands, const Body& then,
            const Body& otherwise);
  Values While(std::span<const Value> values, const Body& condition,
               const Body& step);
  // The body's inputs: iteration, condition, operands; its outputs: condition,
  // carried values, stacked values.
  Values Loop(Value trips, Value condition, std::span<const Value> operands,
              const Body& body, LoopAttrs attrs);
  // The attributes' scan_axes and directions may be empty: axis 0, forward.
  Values Scan(std::span<const Value> operands, const Body& body,
              ScanAttrs attrs);

 private:
  Value Resolve(const Operand& operand, DType dtype);
  Value WithKeptDims(Value x, Value reduced, const Ints& axes, bool keep_dims);
  struct BodyPlan {
    std::string_view name;
    const std::vector<TensorType>& inputs;
    const Body& body;
  };
  std::optional<Graph> MakeBody(std::string_view name,
                                std::span<const TensorType> inputs,
                                const Body& body);
  Values NodeWithBodies(Op op, std::span<const Value> operands,
                        Attributes attributes,
                        std::initializer_list<BodyPlan> plans);
  Values AddSimplified(PendingNode node);
  Values Append(PendingNode node, std::vector<Graph> bodies);
  std::optional<Values> Fold(const PendingNode& node);
  std::optional<NodeId> FindEqual(const PendingNode& node, uint64_t hash) const;
  Values Results(NodeId node) const;

  Graph graph_;
  BuilderOptions options_;
  Status status_;
  std::string origin_;
  std::unordered_multimap<uint64_t, NodeId> known_;
};

}  // namespace encore

#endif  // ENCORE_IR_BUILD_BUILDER_H_
