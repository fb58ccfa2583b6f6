#include "encore/backends/conformance/cases.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/testing/random_graph.h"

namespace encore::backends {
namespace {

// An argument that is the output.
Graph PassedOn(Op op, DType dtype, uint64_t seed) {
  GraphBuilder g("passed_on");
  const TensorType type{dtype, {static_cast<int64_t>(seed % 3), 5}};
  const Value x =
      op == Op::kInput ? g.Input("x", type) : g.Parameter("x", type);
  StatusOr<Graph> graph = g.Build({{"y", x}});
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

std::optional<Graph> GraphOf(Op op, DType dtype, uint64_t seed) {
  if (op == Op::kInput || op == Op::kParameter) {
    return PassedOn(op, dtype, seed);
  }
  return RandomNode(op, dtype, seed);
}

// Every other float becomes an infinity, NaN or zero.
void PutSpecialValues(uint64_t seed, Literal* literal) {
  constexpr double kSpecial[] = {std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), 0.0,
                                 -0.0};
  std::mt19937_64 random(seed);
  Literal special(literal->dtype(), literal->dims());
  for (int64_t i = 0; i < special.element_count(); ++i) {
    const uint64_t bits = random();
    special.SetDouble(
        i, bits % 2 != 0 ? literal->AsDouble(i) : kSpecial[bits / 2 % 5]);
  }
  *literal = std::move(special);
}

std::vector<Literal> ArgumentsOf(const Graph& graph, uint64_t seed) {
  std::vector<Literal> arguments = RandomArguments(graph, seed);
  if (seed % 4 != 3) return arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (IsFloat(arguments[i].dtype()))
      PutSpecialValues(seed + i, &arguments[i]);
  }
  return arguments;
}

// Whether the op gives 0 of every element that there is: of 8 bits or less, of
// which all can be tried.
bool IsZeroEverywhere(Op op, DType dtype) {
  const Signature& signature = Info(op).signature();
  if (!Info(op).has(kElementwise) || signature.operands.size() != 1 ||
      DefaultAttributes(Info(op).attributes).index() != AttrsIndex::kNone ||
      BitWidth(dtype) > 8) {
    return false;
  }
  // A bool is a byte, of which two values are bools.
  const int64_t count =
      dtype == DType::kBool ? 2 : int64_t{1} << BitWidth(dtype);
  Literal all(dtype, {count});
  const std::span<std::byte> bytes = all.mutable_bytes();
  for (int64_t i = 0; i < count; ++i) {
    if (IsPacked(dtype)) {
      StorePacked(dtype, bytes.data(), i, static_cast<uint8_t>(i));
    } else {
      bytes[i] = std::byte(i);
    }
  }
  const auto results = EvaluateNode(op, NoneAttrs(), {&all, 1});
  return results.ok() &&
         (*results)[0] == Literal((*results)[0].dtype(), {count});
}

}  // namespace

bool EveryValue(const Graph& graph,
                const std::function<bool(const TensorType&)>& holds) {
  for (const NodeId node : Nodes(graph)) {
    for (int i = 0; i < graph.result_count(node); ++i) {
      if (!holds(graph.type(graph.result(node, i)))) return false;
    }
    for (const Graph& body : graph.bodies(node)) {
      if (!EveryValue(body, holds)) return false;
    }
  }
  return true;
}

bool NeedsCases(Op op, DType dtype) {
  if (op == Op::kParameter) return !IsString(dtype);
  return op != Op::kCustom;
}

void RemoveFailing(const Case& c, std::span<const Literal> right,
                   std::vector<Mutant>* mutants) {
  std::erase_if(*mutants,
                [&](Mutant mutant) { return Fails(mutant, right, c.bounds); });
}

StatusOr<Cases> CasesOf(Op op, DType dtype,
                        const std::function<bool(DType)>& computes) {
  const auto computed = [&computes](const TensorType& type) {
    return computes(type.dtype);
  };
  Cases found;
  found.mutants.assign(std::begin(kMutants), std::end(kMutants));
  if (IsZeroEverywhere(op, dtype)) std::erase(found.mutants, Mutant::kZero);
  std::vector<Mutant> left = found.mutants;
  for (uint64_t seed = 0; seed < kMostSeeds; ++seed) {
    const bool enough = found.cases.size() >= kCasesPerOp;
    if (enough && left.empty()) break;
    std::optional<Graph> graph = GraphOf(op, dtype, seed);
    if (!graph.has_value() || !EveryValue(*graph, computed)) continue;
    Case c{*std::move(graph), {}, {}};
    c.arguments = ArgumentsOf(c.graph, seed);
    ENCORE_ASSIGN_OR_RETURN(c.bounds, EvaluateBounds(c.graph, c.arguments));
    const size_t before = left.size();
    RemoveFailing(c, Expected(c.bounds), &left);
    if (enough && left.size() == before) continue;
    found.cases.push_back(std::move(c));
  }
  return found;
}

}  // namespace encore::backends
