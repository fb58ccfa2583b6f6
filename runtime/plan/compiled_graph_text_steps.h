// The text of steps, for both directions: a part of
// compiled_graph_text_fields.h, which says what an archive is.
//
// A kind of step without StepKeyword and Fields does not compile.
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_STEPS_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_STEPS_H_

#include <string_view>
#include <type_traits>

#include "encore/ir/types/dim.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime::plan_text {

// What archive A is given for a T.
template <typename A, typename T>
using Of = std::conditional_t<A::kReads, T, const T>;

inline constexpr std::string_view kInvokeKinds[] = {"if", "while", "scan"};

// The word that a step begins with.
template <typename Op>
struct StepKeyword;
template <>
struct StepKeyword<Allocate> {
  static constexpr std::string_view kWord = "allocate";
};
template <>
struct StepKeyword<Copy> {
  static constexpr std::string_view kWord = "copy";
};
template <>
struct StepKeyword<Launch> {
  static constexpr std::string_view kWord = "launch";
};
template <>
struct StepKeyword<Deallocate> {
  static constexpr std::string_view kWord = "deallocate";
};
template <>
struct StepKeyword<Invoke> {
  static constexpr std::string_view kWord = "invoke";
};

template <typename A>
void Fields(A& a, Of<A, Allocate>& op) {
  auto& [pool, slot, bytes] = op;
  a.Value(slot);
  a.Field("bytes", bytes);
  a.Optional("pool", pool, kHostPool);
}

template <typename A>
void Fields(A& a, Of<A, Copy>& op) {
  auto& [src, dst] = op;
  a.Value(src);
  a.Mark("->");
  a.Value(dst);
}

template <typename A>
void Fields(A& a, Of<A, Launch::InPlace>& pair) {
  auto& [read, write] = pair;
  a.Value(read);
  a.Mark("->");
  a.Value(write);
}

template <typename A>
void Fields(A& a, Of<A, Launch>& op) {
  auto& [binary, device, reads, writes, args, in_place] = op;
  a.Value(binary);
  a.Field("on", device);
  a.List("(", reads, ")");
  a.Mark("->");
  a.List("(", writes, ")");
  a.OptionalList("args", args);
  a.OptionalList("in_place", in_place);
}

template <typename A>
void Fields(A& a, Of<A, Deallocate>& op) {
  auto& [pool, slot] = op;
  a.Value(slot);
  a.Optional("pool", pool, kHostPool);
}

template <typename A>
void Fields(A& a, Of<A, Invoke::Carried>& carried) {
  auto& [state, next] = carried;
  a.Value(next);
  a.Mark("->");
  a.Value(state);
}

template <typename A>
void Fields(A& a, Of<A, Invoke::StackedOperand>& operand) {
  auto& [stacked, slice, reversed] = operand;
  a.Value(stacked);
  a.Field("by", slice);
  a.Flag("reversed", reversed);
}

template <typename A>
void Fields(A& a, Of<A, Invoke>& op) {
  auto& [kind, plans, selector, trips, carried, scanned, reads, writes] = op;
  a.Enum(kind, kInvokeKinds);
  a.Word("plans");
  a.List("[", plans, "]");
  a.Optional("selector", selector, SlotId());
  a.Optional("trips", trips, Dim());
  a.OptionalList("carry", carried);
  a.OptionalList("stacked", scanned);
  a.List("(", reads, ")");
  a.Mark("->");
  a.List("(", writes, ")");
}

template <typename A>
void Fields(A& a, Of<A, Step>& step) {
  auto& [op, origins] = step;
  a.Op(op);
  a.OptionalList("origins", origins);
}

template <typename A>
void Fields(A& a, Of<A, Plan>& plan) {
  auto& [steps] = plan;
  a.Block(steps);
}

}  // namespace encore::runtime::plan_text

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_STEPS_H_
