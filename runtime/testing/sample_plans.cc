#include "encore/runtime/testing/sample_plans.h"

#include <random>
#include <variant>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/testing/test_device.h"

namespace encore::runtime {
namespace {

// An If both of whose branches write one slot, which is returned.
SlotId AddIf(TestGraph& g, std::vector<SlotId>& values, Random& random) {
  const SlotId chosen = g.Temp({16}), condition = g.Temp({}, DType::kBool);
  g.Launch("copy", {Pick(values, random)}, {condition});
  Invoke branch;
  branch.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  branch.selector = condition;
  branch.writes = {chosen};
  for (const PlanId plan : branch.plans) {
    const SlotId in = Pick(values, random), inner = g.Temp({16});
    branch.reads.push_back(in);
    g.Launch("neg", {in}, {inner}, {}, plan);
    g.Launch("neg", {inner}, {chosen}, {}, plan);
  }
  g.Add({branch, {}});
  return chosen;
}

// A While; returns its state.
SlotId AddWhile(TestGraph& g, std::vector<SlotId>& values, Random& random) {
  const SlotId state = g.Temp({16}), next = g.Temp({16});
  const SlotId more = g.Temp({}, DType::kBool), fixed = Pick(values, random);
  g.Add({Copy{Pick(values, random), state}, {}});
  Invoke loop;
  loop.kind = InvokeKind::kWhile;
  loop.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  loop.selector = more;
  loop.carried = {{state, next}};
  loop.reads = {state, fixed};
  loop.writes = {state};
  g.Launch("copy", {state}, {more}, {}, loop.plans[0]);
  g.Launch("add", {state, fixed}, {next}, {}, loop.plans[1]);
  g.Add({loop, {}});
  return state;
}

// A Scan over the quarters of one tensor into another, a view of a half, the
// output.
void AddScanAndOutput(TestGraph& g, std::vector<SlotId>& values,
                      Random& random) {
  const SlotId whole = Pick(values, random), gathered = g.Temp({16});
  const SlotId part = g.Temp({4}), result = g.Temp({4}), half = g.Temp({8});
  const SlotId kept = g.Temp({16}), out = g.Tensor(SlotRole::kOutput, {16});
  g.Place(part, whole, 0);
  g.Place(result, gathered, 0);
  g.Place(half, kept, 32);
  Invoke scan;
  scan.kind = InvokeKind::kScan;
  scan.plans = {AddPlan(&g.graph, {})};
  scan.trips = 4;
  scan.scanned = {{whole, part, false}, {gathered, result, true}};
  scan.reads = {whole};
  scan.writes = {gathered};
  g.Launch("neg", {part}, {result}, {}, scan.plans[0]);
  g.Add({scan, {}});
  values.push_back(gathered);
  g.Launch("neg", {gathered}, {kept});
  const SlotId tail = g.Temp({8});
  g.Launch("neg", {half}, {tail});
  g.Launch("add", {tail, Pick(values, random)}, {out});
}

// Tensors as long as a step finds, in memory of their own or in the arena, and
// host objects.
void AddRunTimeSizes(TestGraph& g, std::vector<SlotId>& values,
                     Random& random) {
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.lower = 1,
                             .upper = random() % 2 ? 16 : INT64_MAX,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(0);
  const SlotId found = g.Temp({n}), twice = g.Temp({n});
  const SlotId sum = g.Temp({16});
  g.Launch("count", {Pick(values, random)}, {count});
  g.Launch("compact", {Pick(values, random)}, {found}, {n});
  g.Launch("neg", {found}, {twice});
  g.Launch("add", {found, twice}, {sum});
  values.push_back(sum);
  const SlotId text = g.Tensor(SlotRole::kInput, {}, DType::kString);
  const SlotId joined = g.Temp({}, DType::kString);
  const SlotId copied = g.Temp({}, DType::kString);
  g.Launch("concat_strings", {text, text}, {joined});
  g.Add({Copy{joined, copied}, {}});
  g.Launch("concat_strings", {copied, text},
           {g.Tensor(SlotRole::kOutput, {}, DType::kString)});
}

}  // namespace

CompiledGraph RandomPlan(uint32_t seed) {
  Random random(seed);
  TestGraph g;
  std::vector<SlotId> values = {g.Tensor(SlotRole::kInput, {16}),
                                g.Tensor(SlotRole::kInput, {16}),
                                g.Constant(std::vector<float>(16, 1))};
  const SlotId w = g.Tensor(SlotRole::kParameter, {16});
  const SlotId packed = g.Tensor(SlotRole::kDerived, {16});
  g.graph.prepare = AddPlan(&g.graph, {});
  const SlotId folded = g.Temp({16});
  g.Launch("neg", {w}, {folded}, {}, g.graph.prepare);
  g.Launch("neg", {folded}, {packed}, {}, g.graph.prepare);
  values.push_back(packed);
  const auto some = [&](PlanId plan, int count) {
    for (int i = 0; i < count; ++i) {
      const SlotId out = g.Temp({16});
      if (random() % 3 == 0) {
        g.Launch("neg", {Pick(values, random)}, {out}, {}, plan);
        auto& step = g.graph.plans[plan.value()].steps.back();
        if (random() % 2 == 0) std::get<Launch>(step.op).in_place = {{0, 0}};
      } else if (random() % 5 == 0) {
        g.Add({Copy{Pick(values, random), out}, {}}, plan);
      } else {
        g.Launch("add", {Pick(values, random), Pick(values, random)}, {out}, {},
                 plan);
      }
      values.push_back(out);
    }
  };
  some(g.run, 4);
  values.push_back(AddIf(g, values, random));
  some(g.run, 2);
  values.push_back(AddWhile(g, values, random));
  some(g.run, 2);
  AddRunTimeSizes(g, values, random);
  AddScanAndOutput(g, values, random);
  ENCORE_CHECK_OK(AssignMemory(&g.graph).status());
  return g.graph;
}

CompiledGraph PlanWithEverything() {
  TestGraph g(PoolId(1));
  g.graph.symbols.push_back({.lower = 1, .upper = 64, .index = 0});
  const Dim n = Dim::OfSymbol(0);
  const SlotId x = g.Tensor(SlotRole::kInput, {n, 3});
  const SlotId w = g.Tensor(SlotRole::kParameter, {3});
  const SlotId c = g.Constant({1, 2, 3});
  const SlotId out = g.Tensor(SlotRole::kOutput, {FloorDiv(n + Dim(7), 8) * n});
  const SlotId text = g.Temp({}, DType::kString);
  const SlotId arena = g.Arena(Max(n * n * Dim(4), 64));
  const SlotId t = g.Temp({Mod(n, 5) + Min(n, 9)});
  g.Place(t, arena, 64);
  g.graph.blobs.push_back(Blob::Copy({}, true));
  g.graph.prepare = AddPlan(&g.graph, {});
  const PlanId body = AddPlan(&g.graph, {});
  g.Launch("copy", {w}, {c}, {}, g.graph.prepare);
  g.Add({Allocate{PoolId(1), arena, n * Dim(64)}, {1, 2}});
  g.Launch("fill", {}, {t}, {n, 7});
  std::get<Launch>(g.graph.plans[0].steps.back().op).in_place = {{0, 1}};
  g.Add({Copy{x, out}, {}}, body);
  Invoke invoke;
  invoke.kind = InvokeKind::kScan;
  invoke.plans = {body};
  invoke.trips = n;
  invoke.selector = text;
  invoke.carried = {{t, out}};
  invoke.scanned = {{x, t, true}};
  invoke.reads = {x};
  invoke.writes = {out};
  g.Add({invoke, {7}});
  g.Add({Deallocate{PoolId(1), arena}, {}});
  g.graph.kernel_binaries[0].params = {std::byte{1}, std::byte{2}};
  g.graph.kernel_binaries[0].requirements = {"avx2", "fma"};
  g.graph.kernel_binaries[0].artifact = BlobId(0);
  return g.graph;
}

}  // namespace encore::runtime
