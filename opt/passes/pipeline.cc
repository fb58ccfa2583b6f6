#include "encore/opt/passes/pipeline.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "encore/ir/graph/verifier.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/specialize.h"
#include "encore/opt/passes/invariants.h"
#include "encore/opt/passes/loops.h"
#include "encore/opt/passes/size_assertions.h"
#include "encore/opt/passes/strings.h"
#include "encore/opt/passes/subpixel.h"
#include "encore/opt/passes/symbol_facts.h"
#include "encore/opt/tensor/improve.h"

namespace encore::opt {
namespace {

using PassResult = StatusOr<std::optional<Graph>>;

PassResult RunSpecialize(const Graph& graph, const PassOptions& options) {
  return Specialize(graph, options.replacements);
}

PassResult RunDecompose(const Graph& graph, const PassOptions&) {
  return DecomposeAll(graph);
}

PassResult RunRewrite(const Graph& graph, const PassOptions& options) {
  return Improve(graph, options.rewrite);
}

// A pass without options of its own.
template <auto kPass>
PassResult Plain(const Graph& graph, const PassOptions&) {
  return kPass(graph);
}

constexpr Pass kBeforeKey[] = {
    {
        .name = "specialize",
        .takes = "any graph",
        .gives = "the values that are bound in place of symbols",
        .keeps = "nodes and their order, origins, results",
        .run = RunSpecialize,
    },
};

constexpr Pass kAfterKey[] = {
    {
        .name = "decompose",
        .takes = "any graph",
        .gives = "primitives only",
        .keeps = "origins; results up to rounding",
        .run = RunDecompose,
    },
    {
        .name = "subpixel",
        .takes = "any graph",
        .gives = "no transposed convolution that a dense one computes",
        .keeps = "origins; sums in their order, without terms that are zero",
        .run = Plain<SubpixelConvolutions>,
    },
    {
        .name = "loops",
        .takes = "any graph",
        .gives = "while and scan along dim 0 only, no loop",
        .keeps = "origins, results",
        .run = Plain<LowerLoops>,
    },
    {
        .name = "loop-invariants",
        .takes = "any graph; no loop, to find all",
        .gives = "what every trip would compute in front of while and scan",
        .keeps = "origins, results; what may fail",
        .run = Plain<HoistInvariants>,
    },
    {
        .name = "strings",
        .takes = "any graph",
        .gives = "no movement of strings but take_strings",
        .keeps = "origins, results",
        .run = Plain<LowerStrings>,
    },
    {
        .name = "size-assertions",
        .takes = "any graph",
        .gives = "an assertion before what data-dependent sizes may not fit",
        .keeps = "origins, results where there is no error",
        .run = Plain<AddSizeAssertions>,
    },
    {
        .name = "symbol-facts",
        .takes = "any graph",
        .gives = "what assertions say of data-dependent symbols in their place",
        .keeps = "origins, results where there is no error",
        .run = Plain<ApplySymbolFacts>,
    },
    {
        .name = "rewrite",
        .takes = "any graph; primitives, to make more of it",
        .gives = "a cheaper graph by the rules that are allowed, if there is",
        .keeps = "origins; results as the rules' tags say; what may fail",
        .run = RunRewrite,
    },
};

bool VerifiedByDefault() {
  static const bool verified = std::getenv("ENCORE_VERIFY_PASSES") != nullptr;
  return verified;
}

// Of an argument or output: its name, dtype, kind and rank.
Status CheckSame(std::string_view what, const Graph& before,
                 std::string_view old_name, ValueId old_value,
                 const Graph& after, std::string_view new_name,
                 ValueId new_value) {
  const TensorType& was = before.type(old_value);
  const TensorType& is = after.type(new_value);
  if (old_name == new_name && was.dtype == is.dtype && was.kind == is.kind &&
      was.shape.rank() == is.shape.rank()) {
    return OkStatus();
  }
  return InternalError(StrCat(
      what, " ", Quote(old_name), " of ", was.ToString(before.symbols()),
      " became ", Quote(new_name), " of ", is.ToString(after.symbols())));
}

// Shapes may be said in other symbols: those that a node of the graph defines.
Status CheckSignature(const Graph& before, const Graph& after) {
  if (before.name() != after.name()) {
    return InternalError(StrCat("the graph ", Quote(before.name()), " became ",
                                Quote(after.name())));
  }
  if (before.arguments().size() != after.arguments().size() ||
      before.outputs().size() != after.outputs().size()) {
    return InternalError(StrCat(before.arguments().size(), " arguments and ",
                                before.outputs().size(), " outputs became ",
                                after.arguments().size(), " and ",
                                after.outputs().size()));
  }
  for (size_t i = 0; i < before.arguments().size(); ++i) {
    const Graph::Argument& was = before.arguments()[i];
    const Graph::Argument& is = after.arguments()[i];
    ENCORE_RETURN_IF_ERROR(CheckSame(was.is_parameter ? "parameter" : "input",
                                     before, was.name, was.value, after,
                                     is.name, is.value));
  }
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    const Graph::Output& was = before.outputs()[i];
    const Graph::Output& is = after.outputs()[i];
    ENCORE_RETURN_IF_ERROR(CheckSame("output", before, was.name, was.value,
                                     after, is.name, is.value));
  }
  return OkStatus();
}

// Of what a pass gave, not of what the caller did: Internal.
Status CheckResult(const Pass& pass, const Graph& before, const Graph& after) {
  Status status = Verify(after);
  if (status.ok()) status = CheckSignature(before, after);
  if (status.ok()) return status;
  return InternalError(StrCat("the pass ", pass.name,
                              " gave an unsound graph: ", Message(status)));
}

}  // namespace

std::span<const Pass> PassesBeforeKey() { return kBeforeKey; }
std::span<const Pass> PassesAfterKey() { return kAfterKey; }

std::vector<Pass> AllPasses() {
  std::vector<Pass> passes(std::begin(kBeforeKey), std::end(kBeforeKey));
  passes.insert(passes.end(), std::begin(kAfterKey), std::end(kAfterKey));
  return passes;
}

StatusOr<Pass> FindPass(std::string_view name) {
  std::string names;
  for (const Pass& pass : AllPasses()) {
    if (pass.name == name) return pass;
    StrAppend(&names, names.empty() ? "" : ", ", pass.name);
  }
  return NotFoundError(StrCat("no pass ", Quote(name), "; there are ", names));
}

StatusOr<Graph> RunPasses(std::span<const Pass> passes, const Graph& graph,
                          const PassOptions& options, PassObserver* observer) {
  const bool verify =
      VerifiedByDefault() || (observer != nullptr && observer->verify());
  std::optional<Graph> current;  // nothing: still `graph`
  for (const Pass& pass : passes) {
    const Graph& before = current ? *current : graph;
    const auto begin = std::chrono::steady_clock::now();
    PassResult result = pass.run(before, options);
    const auto end = std::chrono::steady_clock::now();
    Status status = result.status();
    const bool changed = result.ok() && result->has_value();
    if (verify && changed) status = CheckResult(pass, before, **result);
    if (observer != nullptr) {
      observer->Ran({pass, before, options, status, changed ? **result : before,
                     begin, end});
    }
    ENCORE_RETURN_IF_ERROR(status);
    if (changed) current = *std::move(result);
  }
  if (current) return *std::move(current);
  return Specialize(graph, {});  // a copy
}

}  // namespace encore::opt
