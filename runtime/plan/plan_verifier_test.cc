#include "encore/runtime/plan/plan_verifier.h"

#include <functional>
#include <string>
#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

// The sound graph that each case breaks in one place. Slots: 0 x, 1 out, 2 w,
// 3 packed (derived), 4 c (constant), 5 arena, 6 a, 7 b, 8 view of a,
// 9 selector, 10 count, 11 found (run-time size), 12 state, 13 element of out2,
// 14 out2. Plans: 0 run, 1 prepare, 2 and 3 branches, 4 scan body.
TestGraph Sound() {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {16});
  const SlotId out = g.Tensor(SlotRole::kOutput, {16});
  const SlotId w = g.Tensor(SlotRole::kParameter, {16});
  const SlotId packed = g.Tensor(SlotRole::kDerived, {16});
  const SlotId c = g.Constant(std::vector<float>(16, 1));
  const SlotId arena = g.Arena(256);
  const SlotId a = g.Temp({16}), b = g.Temp({16}), view = g.Temp({8});
  const SlotId selector = g.Tensor(SlotRole::kInput, {}, DType::kI32);
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.lower = 0,
                             .upper = 16,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(0);
  const SlotId found = g.Temp({n});
  const SlotId state = g.Temp({4});
  const SlotId element = g.Temp({4});
  const SlotId out2 = g.Tensor(SlotRole::kOutput, {3, 4});
  g.Place(a, arena, 0);
  g.Place(b, arena, 64);
  g.Place(view, a, 32);
  g.Place(count, arena, 128);
  g.Place(state, arena, 192);
  g.Place(element, out2, 0);
  g.graph.prepare = AddPlan(&g.graph, {});
  const PlanId left = AddPlan(&g.graph, {}), right = AddPlan(&g.graph, {});
  const PlanId body = AddPlan(&g.graph, {});
  g.Launch("mul", {w, c}, {packed}, {}, g.graph.prepare);
  g.Launch("neg", {a}, {b}, {}, left);
  g.Launch("add", {a, packed}, {b}, {}, right);
  g.Launch("relu", {state}, {element}, {}, body);
  g.Add({Allocate{kHostPool, arena, 256}, {}});  // 0
  g.Launch("neg", {x}, {a});                     // 1
  Invoke branch;
  branch.plans = {left, right};
  branch.selector = selector;
  branch.reads = {a};
  branch.writes = {b};
  g.Add({branch, {}});                                  // 2
  g.Launch("count", {b}, {count});                      // 3
  g.Add({Allocate{kHostPool, found, n * Dim(4)}, {}});  // 4
  g.Launch("compact", {b}, {found}, {n});               // 5
  g.Launch("mul", {a, b}, {out});                       // 6
  g.Add({Deallocate{kHostPool, found}, {}});            // 7
  g.Launch("fill", {}, {state}, {3});                   // 8
  Invoke scan;
  scan.kind = InvokeKind::kScan;
  scan.plans = {body};
  scan.trips = 3;
  scan.carried = {{state, element}};
  scan.scanned = {{out2, element, false}};
  scan.reads = {state};
  scan.writes = {state, out2};
  g.Add({scan, {}});                          // 9
  g.Add({Deallocate{kHostPool, arena}, {}});  // 10
  return g;
}

struct Case {
  const char* invariant;
  const char* what;
  std::function<void(CompiledGraph&)> breaks;
};

template <typename Op>
Op& At(CompiledGraph& g, int step, int plan = 0) {
  return std::get<Op>(g.plans[plan].steps[step].op);
}

void Drop(CompiledGraph& g, int step, int plan = 0) {
  auto& steps = g.plans[plan].steps;
  steps.erase(steps.begin() + step);
}

void Repeat(CompiledGraph& g, int step) {
  auto& steps = g.plans[0].steps;
  const Step copy = steps[step];
  steps.insert(steps.begin() + step, copy);
}

using G = CompiledGraph&;

// What slots, symbols and plans are.
std::vector<Case> CasesOfTables() {
  return {
      {"P1", "slot id", [](G g) { At<Launch>(g, 1).reads[0] = SlotId(99); }},
      {"P1", "program",
       [](G g) { At<Launch>(g, 1).program = KernelBinaryId(99); }},
      {"P1", "symbol", [](G g) { g.slots[11].bytes = Dim::OfSymbol(7); }},
      {"P1", "in place", [](G g) { At<Launch>(g, 1).in_place = {{0, 5}}; }},
      {"P2", "negative size", [](G g) { g.slots[6].bytes = Dim(-4); }},
      {"P2", "input not dense", [](G g) { g.slots[0].bytes = Dim(32); }},
      {"P2", "based output", [](G g) { g.slots[1].base = SlotId(5); }},
      {"P3", "constant size", [](G g) { g.slots[4].bytes = Dim(128); }},
      {"P3", "constant place", [](G g) { g.slots[4].blob_offset = -64; }},
      {"P4", "leaves arena", [](G g) { g.slots[7].offset = Dim(256); }},
      {"P4", "unaligned", [](G g) { g.slots[7].offset = Dim(68); }},
      {"P4", "view of view", [](G g) { g.slots[12].base = SlotId(8); }},
      {"P4", "cycle", [](G g) { g.slots[6].base = SlotId(8); }},
      {"P5", "unlisted input", [](G g) { g.inputs.pop_back(); }},
      {"P5", "listed twice", [](G g) { g.outputs.push_back(SlotId(1)); }},
      {"P6", "bounds", [](G g) { g.symbols[0].lower = 20; }},
      {"P6", "element", [](G g) { g.symbols[0].element = 1; }},
      {"P7", "plan twice", [](G g) { At<Invoke>(g, 2).plans[0] = PlanId(3); }},
      {"P7", "unused plan", [](G g) { AddPlan(&g, {}); }},
      {"P7", "no run plan", [](G g) { g.run = PlanId(50); }},
  };
}

// What a step names.
std::vector<Case> CasesOfOperands() {
  return {
      {"P8", "arity", [](G g) { At<Launch>(g, 1).reads.push_back(SlotId(0)); }},
      {"P8", "backend", [](G g) { g.programs[0].backend = "other"; }},
      {"P8", "pool",
       [](G g) {
         g.devices.push_back({"test", 1, PoolId(1)});
         g.pools.push_back({DeviceId(1)});
         At<Launch>(g, 8).device = DeviceId(1);
       }},
      {"P9", "copy sizes",
       [](G g) { g.plans[0].steps[6].op = Copy{SlotId(8), SlotId(1)}; }},
      {"P10", "allocate size", [](G g) { At<Allocate>(g, 0).bytes = Dim(64); }},
      {"P10", "free input", [](G g) { At<Deallocate>(g, 7).slot = SlotId(0); }},
      {"P11", "selector", [](G g) { At<Invoke>(g, 2).selector = SlotId(0); }},
      {"P11", "no plan",
       [](G g) { At<Invoke>(g, 9).kind = InvokeKind::kWhile; }},
  };
}

// When slots have memory.
std::vector<Case> CasesOfLifetimes() {
  return {
      {"P12", "not allocated", [](G g) { Drop(g, 0); }},
      {"P12", "used after free",
       [](G g) { std::swap(g.plans[0].steps[5], g.plans[0].steps[7]); }},
      {"P13", "allocated twice", [](G g) { Repeat(g, 0); }},
      {"P13", "freed twice", [](G g) { Repeat(g, 7); }},
      {"P14", "leak", [](G g) { Drop(g, 7); }},
      {"P14", "freed inside",
       [](G g) {
         g.plans[2].steps.push_back({Deallocate{kHostPool, SlotId(5)}, {}});
       }},
  };
}

// When slots have values.
std::vector<Case> CasesOfValues() {
  return {
      {"P15", "never written", [](G g) { Drop(g, 1); }},
      {"P15", "written on one path", [](G g) { Drop(g, 0, 2); }},
      {"P15", "overwritten", [](G g) { g.slots[10].offset = Dim(0); }},
      {"P15", "in the next trip",
       [](G g) {
         At<Invoke>(g, 9).carried = {};
         Drop(g, 8);
       }},
      {"P16", "in place, undeclared",
       [](G g) { At<Launch>(g, 6).writes[0] = SlotId(8); }},
      {"P17", "undeclared read", [](G g) { At<Invoke>(g, 2).reads = {}; }},
      {"P17", "undeclared write", [](G g) { At<Invoke>(g, 2).writes = {}; }},
      {"P17", "element outside",
       [](G g) { At<Launch>(g, 8).writes[0] = SlotId(13); }},
      {"P18", "writes input",
       [](G g) { At<Launch>(g, 1).writes[0] = SlotId(0); }},
      {"P18", "writes derived",
       [](G g) { At<Launch>(g, 6).writes[0] = SlotId(3); }},
      {"P18", "prepare reads input",
       [](G g) { At<Launch>(g, 0, 1).reads[0] = SlotId(0); }},
      {"P19", "output", [](G g) { Drop(g, 6); }},
      {"P19", "derived", [](G g) { Drop(g, 0, 1); }},
      {"P20", "size unknown", [](G g) { Drop(g, 3); }},
      {"P20", "memory of another size",
       [](G g) {
         std::vector<Step>& steps = g.plans[0].steps;
         steps.insert(steps.begin() + 5, steps[3]);  // counts again
       }},
  };
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& theme : {CasesOfTables(), CasesOfOperands(),
                            CasesOfLifetimes(), CasesOfValues()}) {
    cases.insert(cases.end(), theme.begin(), theme.end());
  }
  return cases;
}

TEST(PlanVerifier, AcceptsTheSoundGraph) {
  const Status status = VerifyPlan(Sound().graph);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PlanVerifier, EachInvariantHasAFailingGraph) {
  std::vector<bool> covered(21);
  for (const Case& c : Cases()) {
    CompiledGraph graph = Sound().graph;
    c.breaks(graph);
    const std::string message = Message(VerifyPlan(graph));
    EXPECT_EQ(message.substr(0, message.find(':')), c.invariant)
        << c.what << ": " << message;
    covered[std::stoi(c.invariant + 1)] = true;
  }
  for (int i = 1; i <= 20; ++i) EXPECT_TRUE(covered[i]) << "P" << i;
}

TEST(PlanVerifier, EmptyGraphsAndDeepNesting) {
  EXPECT_FALSE(VerifyPlan(CompiledGraph{}).ok());
  TestGraph g;
  EXPECT_TRUE(VerifyPlan(g.graph).ok());
  const SlotId selector = g.Tensor(SlotRole::kInput, {}, DType::kI32);
  PlanId plan = g.run;
  for (int depth = 1; depth < 9; ++depth) {
    EXPECT_TRUE(VerifyPlan(g.graph).ok()) << depth;
    Invoke invoke;
    invoke.plans = {AddPlan(&g.graph, {})};
    invoke.selector = selector;
    g.Add({invoke, {}}, plan);
    plan = invoke.plans[0];
  }
  EXPECT_EQ(Message(VerifyPlan(g.graph)).substr(0, 3), "P7:");
}

}  // namespace
}  // namespace encore::runtime
