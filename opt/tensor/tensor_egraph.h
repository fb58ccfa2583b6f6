// TensorEGraph: the e-graph whose terms are tensors.
//
// A node is a row of the op table with so many operands (an operator of the
// engine is made for each pair as it is needed), a class per operand, and,
// where the row's struct has fields, one literal column: the number of interned
// attributes, equal for equal values. Beside these there are arguments of the
// graph (by number), and anchors: nodes of the graph that stay as they are,
// with their number as a column so that no two are equal, which give a tuple
// whose parts are tensors.
//
// Each class has facts (TensorFact), made by the op table's own inference.
//
// Not thread-safe; stays where it is (facts and primitives point to it).
#ifndef ENCORE_OPT_TENSOR_TENSOR_EGRAPH_H_
#define ENCORE_OPT_TENSOR_TENSOR_EGRAPH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/interned.h"
#include "encore/opt/tensor/value_range.h"

namespace encore::opt {

// What is known of the values of a class; of a tuple nothing.
struct TensorFact {
  static constexpr uint32_t kNone = UINT32_MAX;
  // In the types of the e-graph; kNone where inference refuses the node.
  uint32_t type = kNone;
  // The scalar that each element is, among the interned attributes
  // (ConstantAttrs); kNone where no node says one. Where two nodes say
  // different ones (reassociating rules round differently), neither counts.
  uint32_t splat = kNone;
  bool splat_differs = false;
  // Between which integers the elements lie. Where two nodes leave nothing (of
  // no elements anything is true), none is known. It is narrowed kMaxNarrowings
  // times: around a cycle it could be for ever.
  static constexpr uint8_t kMaxNarrowings = 8;
  std::optional<ValueRange> range = std::nullopt;
  bool range_differs = false;
  uint8_t narrowings = 0;
  // Follows from parameters and constants, and has a constant shape.
  bool weight_only = false;

  bool operator==(const TensorFact&) const = default;
};

// What an operator of the engine stands for.
struct TensorOp {
  enum class Kind : uint8_t { kOp, kArgument, kAnchor, kPart };
  Kind kind = Kind::kOp;
  Op op = Op::kInput;
  int operands = 0;             // leading columns
  bool has_attributes = false;  // of kOp: the column behind them
};

class TensorEGraph {
 public:
  // `symbols`: those of the graph, which outlive this. `reasons`: whether the
  // e-graph keeps why classes became equal (opt/egraph/explain).
  explicit TensorEGraph(std::span<const Symbol> symbols, bool reasons = false);
  TensorEGraph(const TensorEGraph&) = delete;
  TensorEGraph& operator=(const TensorEGraph&) = delete;

  egraph::EGraph& graph() { return graph_; }
  const egraph::EGraph& graph() const { return graph_; }
  std::span<const Symbol> symbols() const { return symbols_; }

  // --- Adding. Anything may be added twice.

  egraph::OpId OpOf(Op op, int operands);
  egraph::ClassId Add(Op op, std::span<const egraph::ClassId> operands,
                      const Attributes& attributes);
  // As Add, of what a rule makes: always-good local rewrites first
  // (ir/build/simplify.h), so that it may be a class that is there.
  egraph::ClassId AddSimplified(Op op,
                                std::span<const egraph::ClassId> operands,
                                const Attributes& attributes);
  egraph::ClassId AddArgument(uint32_t number, const TensorType& type,
                              bool is_parameter);
  // `number`: which anchor, each once.
  egraph::ClassId AddAnchor(uint32_t number,
                            std::span<const egraph::ClassId> operands);
  egraph::ClassId AddPart(egraph::ClassId anchor, const TensorType& type,
                          uint32_t result);

  // --- Reading.

  const TensorOp& op(egraph::OpId id) const { return ops_[id.value()]; }
  const TensorOp& op(egraph::NodeId node) const { return op(graph_.op(node)); }
  // Of a node of kind kOp.
  const Attributes& attributes(egraph::NodeId node) const;
  std::vector<egraph::ClassId> operands(egraph::NodeId node) const;
  // Where reasons are kept, the ids that the node was made with; else as above.
  std::vector<egraph::ClassId> WrittenOperands(egraph::NodeId node) const;
  // Of a node of another kind: the number it was added with; of a part the
  // number of the result.
  uint32_t number(egraph::NodeId node) const;

  const TensorFact& fact(egraph::ClassId c) const;
  // Null where inference refused it, and of tuples.
  const TensorType* type(egraph::ClassId c) const;
  // The scalar that each element is; null where none is known.
  const Literal* splat(egraph::ClassId c) const;
  // Why inference refuses the node; OK otherwise. `open` as in InferContext.
  Status CheckTypes(egraph::NodeId node, std::vector<Dim>* open) const;

  // --- Reasons, where they are kept.

  // Pairs of ids that AddSimplified took for one, as they were in one class;
  // those of the calls since this was last asked.
  using EqualIds = std::vector<std::pair<egraph::ClassId, egraph::ClassId>>;
  EqualIds TakeEqualIds() { return std::exchange(equal_ids_, {}); }
  // What an application of a rule that unites these two ids took for one.
  void SetPremises(egraph::ClassId left, egraph::ClassId right, EqualIds equal);
  EqualIds PremisesOf(egraph::ClassId left, egraph::ClassId right) const;

  // --- Faults of rules: the engine's error.

  // Of the first: the class that what the rule made was to be equal to; invalid
  // where no rule is wrong.
  egraph::ClassId fault_class() const { return fault_class_; }
  void SetFault(egraph::ClassId wanted, Status error) {
    if (!fault_class_.valid()) fault_class_ = wanted;
    graph_.SetError(std::move(error));
  }

  // --- Attributes as values of rules.

  egraph::SortId tensor_sort() const { return tensor_; }
  egraph::SortId attributes_sort() const { return attributes_; }
  egraph::Value InternAttributes(const Attributes& attributes);
  const Attributes& AttributesOf(egraph::Value value) const;

 private:
  class Facts;
  friend class Facts;

  void KeepEqualIds(const EqualIds& equal);
  std::vector<egraph::Value> ColumnsOf(
      Op op, std::span<const egraph::ClassId> operands,
      const Attributes& attributes);
  ValueId ScratchInput(uint32_t type, size_t number);
  TensorFact FactOf(egraph::NodeId node);
  uint32_t SplatOf(const TensorOp& op, egraph::NodeId node);
  std::optional<ValueRange> RangeOfNode(egraph::NodeId node,
                                        const TensorType& result) const;
  StatusOr<std::vector<TensorType>> Infer(egraph::NodeId node,
                                          std::vector<Dim>* open) const;
  egraph::OpId AddOperator(const std::string& name,
                           std::vector<egraph::SortId> args,
                           egraph::SortId result, TensorOp op);

  std::span<const Symbol> symbols_;
  // Has the symbols, and inputs: by number of the type in type_pool_, those of
  // that type.
  Graph scratch_;
  std::vector<std::vector<ValueId>> scratch_inputs_;
  egraph::EGraph graph_;
  egraph::SortId tensor_, tuple_, attributes_;
  std::vector<TensorOp> ops_;  // by OpId
  std::map<std::pair<Op, int>, egraph::OpId> op_ids_;
  std::map<int, egraph::OpId> anchor_ids_;
  egraph::OpId argument_, part_;
  Interned<Attributes> attribute_pool_;
  Interned<TensorType> type_pool_;
  // By argument, and by result of anchors: number in type_pool_.
  std::unordered_map<uint32_t, TensorFact> arguments_, results_;
  egraph::ClassId fault_class_;
  EqualIds equal_ids_;
  std::map<std::pair<egraph::ClassId, egraph::ClassId>, EqualIds> premises_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TENSOR_EGRAPH_H_
