// Scope: what the names of an ONNX graph stand for while it is imported.
//
// A name is bound to a tensor in the graph under construction, or to something
// better known: a constant, or a short vector of dims (shape arithmetic over
// symbols). What is better known becomes a node only when somebody asks for a
// tensor.
//
// Weights (initializers and large constants) are parameters of the graph unless
// a converter reads their value: a compiled graph must not depend on a
// parameter's value, so a weight that was read is a constant everywhere. Where
// reading comes after use, the import starts again with that weight known to be
// a constant.
#ifndef ENCORE_IR_IMPORT_ONNX_SCOPE_SCOPE_H_
#define ENCORE_IR_IMPORT_ONNX_SCOPE_SCOPE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/hash/hash.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/import/onnx/scope/equal_dims.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// Longer integer vectors are data, not shapes.
inline constexpr int64_t kMaxKnownDims = 64;

// What decides a model's structure is computed in at most this many nodes from
// weights of at most so many elements.
inline constexpr size_t kMaxStructureNodes = 4096;
inline constexpr int64_t kMaxStructureElements = 4096;

// A vector of dims, or one dim as a scalar, as a tensor of i64 or i32.
struct KnownDims {
  Dims dims;
  bool scalar = false;
  DType dtype = DType::kI64;
};

struct Bound {
  // The tensor in the graph, once there is one.
  std::optional<Value> value;
  std::optional<Literal> constant;
  std::optional<KnownDims> dims;
  // Whether `constant` is weight data and so better a parameter.
  bool is_weight = false;
};

// A symbol that a node defines.
struct DefinedSize {
  Dim dim;
  // Whether it is 0 where the number makes no sense and an assertion says so.
  bool asserted = false;
};

// Whether a tensor of the model is weight data rather than an argument of the
// model's structure: floats or bytes that are no scalar.
bool IsWeight(const Literal& literal);

// Why a node could not be imported, where another way of importing it, or what
// is around it, may go through.
enum class Obstacle : uint8_t {
  kNone,           // there is no other way: the model is wrong or not supported
  kShapeMismatch,  // shapes do not go together; with other extents they may
  kMixedRanks,  // an If gives a value in one rank or another, see node_queue.h
  kUnknown,     // it takes a data-dependent value, rank or extent
};

// Names of weights that converters read.
using ReadWeights = std::set<std::string, std::less<>>;

class Scope {
 public:
  // `builder` makes the nodes of this scope's graph; both pointers outlive the
  // scope. A subgraph has a scope of its own, in which what it captures is
  // bound anew; weights of its own are constants, because a body has no
  // parameters.
  Scope(GraphBuilder* builder, ReadWeights* read_weights, bool is_body = false)
      : builder_(builder), read_weights_(read_weights), is_body_(is_body) {}

  // Binds a name. InvalidArgument where it is bound in this scope already: ONNX
  // is SSA.
  Status Bind(std::string_view name, Bound bound);

  // What the name is bound to; null where it is not.
  const Bound* Find(std::string_view name) const;

  // The name as a tensor of this scope's graph. REQUIRES a bound name.
  Value Tensor(std::string_view name);

  // The value of a name that is known at compile time, else nothing. Reading a
  // weight makes it a constant; see needs_restart().
  std::optional<Literal> Constant(std::string_view name);

  // The name as dims: of a constant integer vector or scalar, or of shape
  // arithmetic.
  std::optional<KnownDims> AsDims(std::string_view name);

  // Makes constants of the weights that the tensor `name` is computed from,
  // where they are few and small and it depends on nothing else: what is
  // computed from constants is known. See needs_restart().
  void ReadWeightsBehind(std::string_view name);

  // A name whose value has one rank or another: it is not bound.
  void AddMixed(std::string_view name) { mixed_.emplace(name); }
  bool IsMixed(std::string_view name) const { return mixed_.contains(name); }

  // Whether the name, an output of the graph, is bound: InvalidArgument where
  // no node gives it; stops at kMixedRanks where it has two.
  Status CheckOutput(std::string_view name);

  // `error`, with which the import of a node stops, because of `obstacle`.
  Status Stop(Obstacle obstacle, Status error) {
    obstacle_ = obstacle;
    return error;
  }
  void ClearObstacle() { obstacle_ = Obstacle::kNone; }
  // Why the last node could not be imported; says nothing of one that was.
  Obstacle obstacle() const { return obstacle_; }

  // Whether a weight was read after it had become a parameter.
  bool needs_restart() const { return needs_restart_; }
  // What is known of a subgraph's scope.
  void AddRestart(const Scope& inner) {
    needs_restart_ |= inner.needs_restart_;
  }

  // What is known of the tensors in a host object of this scope's graph.
  const ElementShape& Elements(Value object) {
    return elements_->Of(builder_->graph(), object.id());
  }
  void SetElements(Value object, ElementShape shape) {
    elements_->Set(object, std::move(shape));
  }
  // The size that an i64 scalar of this scope's graph says, where a node
  // defines it; else null.
  const DefinedSize* FindSize(Value size) const {
    const auto defined = sizes_->find(size.id());
    return defined == sizes_->end() ? nullptr : &defined->second;
  }
  void AddSize(Value size, DefinedSize defined) {
    sizes_->emplace(size.id(), std::move(defined));
  }
  // Dims of this scope's graph that a node before asserts to be equal.
  EqualDims& equal_dims() { return *equal_dims_; }

  // For a scope of the same graph.
  void ShareFacts(const Scope& other) {
    elements_ = other.elements_;
    sizes_ = other.sizes_;
    equal_dims_ = other.equal_dims_;
  }

  // Whether it is a subgraph's, which may never run.
  bool is_body() const { return is_body_; }

  GraphBuilder& builder() { return *builder_; }
  ReadWeights* read_weights() { return read_weights_; }

 private:
  GraphBuilder* builder_;
  ReadWeights* read_weights_;
  bool is_body_;
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return absl::Hash<std::string_view>()(name);
    }
  };
  // What Find gives stays where it is.
  absl::node_hash_map<std::string, Bound, NameHash, std::equal_to<>> names_;
  std::set<std::string, std::less<>> mixed_;
  std::shared_ptr<ElementShapes> elements_ = std::make_shared<ElementShapes>();
  std::shared_ptr<std::map<ValueId, DefinedSize>> sizes_ =
      std::make_shared<std::map<ValueId, DefinedSize>>();
  std::shared_ptr<EqualDims> equal_dims_ = std::make_shared<EqualDims>();
  bool needs_restart_ = false;
  Obstacle obstacle_ = Obstacle::kNone;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SCOPE_SCOPE_H_
