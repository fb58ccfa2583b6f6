#include "encore/runtime/plan/compiled_graph_io.h"

#include <cstring>
#include <random>
#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

// A graph with something in every field.
CompiledGraph Everything() {
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
  g.graph.programs[0].params = {std::byte{1}, std::byte{2}};
  g.graph.programs[0].requirements = {"avx2", "fma"};
  g.graph.programs[0].artifact = BlobId(0);
  return g.graph;
}

TEST(CompiledGraphIo, RoundTripsAndUsesBlobsInPlace) {
  const CompiledGraph graph = Everything();
  const std::vector<std::byte> bytes = SerializeCompiledGraph(graph);
  const Blob aligned = Blob::Copy(bytes);
  const auto parsed = ParseCompiledGraph(aligned.bytes, aligned.owner);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(SerializeCompiledGraph(*parsed), bytes);
  EXPECT_EQ(parsed->slots[3].type, graph.slots[3].type);
  EXPECT_EQ(parsed->programs[0].requirements, graph.programs[0].requirements);
  EXPECT_EQ(parsed->plans.size(), graph.plans.size());
  EXPECT_TRUE(parsed->blobs[1].executable);
  EXPECT_GE(parsed->blobs[0].bytes.data(), aligned.bytes.data());
  EXPECT_LT(parsed->blobs[0].bytes.data(),
            aligned.bytes.data() + aligned.bytes.size());
}

TEST(CompiledGraphIo, EveryTruncationIsAnError) {
  const CompiledGraph graph = Everything();
  const std::vector<std::byte> bytes = SerializeCompiledGraph(graph);
  // The last blob is empty and the one before ends 52 bytes short of it.
  const size_t needed = bytes.size() - 64 + 12;
  for (size_t size = 0; size < needed; ++size) {
    EXPECT_FALSE(ParseCompiledGraph(std::span(bytes).first(size), nullptr).ok())
        << size;
  }
}

TEST(CompiledGraphIo, OtherVersionsAreRefusedByName) {
  std::vector<std::byte> bytes = SerializeCompiledGraph(Everything());
  bytes[4] = std::byte{99};
  const auto parsed = ParseCompiledGraph(bytes, nullptr);
  EXPECT_EQ(parsed.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(parsed.status()).find("version 99"), std::string::npos);
}

TEST(CompiledGraphIo, DamagedBytesAreSafe) {
  const std::vector<std::byte> good = SerializeCompiledGraph(Everything());
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes = good;
    for (int change = 0; change <= round % 3; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    const auto parsed = ParseCompiledGraph(bytes, nullptr);
    if (!parsed.ok()) continue;
    // What is accepted means the same when it is written and read again.
    const auto again = SerializeCompiledGraph(*parsed);
    const auto reparsed = ParseCompiledGraph(again, nullptr);
    ASSERT_TRUE(reparsed.ok());
    EXPECT_EQ(SerializeCompiledGraph(*reparsed), again);
  }
}

}  // namespace
}  // namespace encore::runtime
