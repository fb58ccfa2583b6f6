// Language: the sorts, operators and primitives that nodes, patterns and rules
// are made of.
//
// A sort is a class sort (its values are e-classes) or a literal sort (its
// values are interned literals). An operator takes columns of any sorts and
// gives a class sort or Unit; an operator into Unit is a relation: its rows are
// facts, not terms. A primitive computes a literal, or decides a condition,
// from values that are already bound.
//
// An attribute of an operator is a column of a literal sort, usually one made
// with AddLiteralSort, whose payloads index attributes that the client keeps.
// An operator with several results gives a tuple sort, and one projection
// operator per result gives the parts (AddMultiOp).
//
// Names are unique per kind. Copyable; ids stay valid in copies. Not
// thread-safe, const access apart.
#ifndef ENCORE_OPT_EGRAPH_CORE_LANGUAGE_H_
#define ENCORE_OPT_EGRAPH_CORE_LANGUAGE_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/literals.h"

namespace encore::egraph {

class EGraph;

struct OpInfo {
  std::string name{};
  std::vector<SortId> args{};
  SortId result{};
  double cost = 1;          // of one node, for tree extraction
  bool extractable = true;  // false: extraction never chooses it
};

// Sets `*result` (ignored for conditions) and returns true; false = undefined
// or condition does not hold. In a query false means "no match", in an action
// it fails the run. `pool` is where literal results are interned. Class-sort
// arguments are canonical in queries.
using PrimitiveFn =
    std::function<bool(const EGraph& graph, LiteralPool& pool,
                       std::span<const Value> args, Value* result)>;

struct PrimitiveInfo {
  std::string name;  // for messages; not unique (overloads)
  std::vector<SortId> args;
  SortId result;  // kUnitSort for a condition
  PrimitiveFn function;
};

class Language {
 public:
  Language();

  // InvalidArgument where the name is taken.
  StatusOr<SortId> AddClassSort(std::string_view name);
  StatusOr<SortId> AddLiteralSort(std::string_view name);
  // InvalidArgument where the name is taken, a sort does not exist, the result
  // is a literal sort, or there are too many operators (kMaxOps) or columns
  // (kMaxArity).
  StatusOr<OpId> AddOp(OpInfo info);
  StatusOr<OpId> AddRelation(std::string_view name, std::vector<SortId> args);

  struct MultiOp {
    OpId op;                        // gives the tuple
    std::vector<OpId> projections;  // "name.0", "name.1", ... of the tuple
  };
  // An operator with several results. The tuple's node carries `cost`, the
  // projections are free. Two tuples are equal only when their parts are shown
  // equal together; equal parts never make tuples equal.
  StatusOr<MultiOp> AddMultiOp(std::string_view name, std::vector<SortId> args,
                               std::vector<SortId> results, double cost = 1);

  PrimitiveId AddPrimitive(PrimitiveInfo info);

  std::optional<SortId> FindSort(std::string_view name) const;
  std::optional<OpId> FindOp(std::string_view name) const;
  // The first primitive of that name.
  std::optional<PrimitiveId> FindPrimitive(std::string_view name) const;

  bool is_class(SortId sort) const { return sorts_[sort.value()].is_class; }
  // Whether its values are classes of terms; Unit is a class without one.
  bool has_terms(SortId sort) const {
    return sort != kUnitSort && is_class(sort);
  }
  bool is_relation(OpId op) const { return this->op(op).result == kUnitSort; }
  const std::string& sort_name(SortId sort) const {
    return sorts_[sort.value()].name;
  }
  const OpInfo& op(OpId op) const { return ops_[op.value()]; }
  const PrimitiveInfo& primitive(PrimitiveId id) const {
    return primitives_[id.value()];
  }
  size_t num_sorts() const { return sorts_.size(); }
  size_t num_ops() const { return ops_.size(); }

  LiteralPool& literals() { return literals_; }
  const LiteralPool& literals() const { return literals_; }

  static constexpr size_t kMaxOps = 0x7FF0;
  static constexpr size_t kMaxArity = 1 << 24;

 private:
  struct Sort {
    std::string name;
    bool is_class;
  };
  StatusOr<SortId> AddSort(std::string_view name, bool is_class);

  std::vector<Sort> sorts_;
  std::vector<OpInfo> ops_;
  std::vector<PrimitiveInfo> primitives_;
  absl::flat_hash_map<std::string, SortId> sort_names_;
  absl::flat_hash_map<std::string, OpId> op_names_;
  LiteralPool literals_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_LANGUAGE_H_
