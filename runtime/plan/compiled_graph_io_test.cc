#include "encore/runtime/plan/compiled_graph_io.h"

#include <cstring>
#include <random>
#include <vector>

#include "encore/runtime/testing/sample_plans.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

TEST(CompiledGraphIo, RoundTripsAndUsesBlobsInPlace) {
  const CompiledGraph graph = PlanWithEverything();
  const std::vector<std::byte> bytes = SerializeCompiledGraph(graph);
  const Blob aligned = Blob::Copy(bytes);
  const auto parsed = ParseCompiledGraph(aligned.bytes, aligned.owner);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(SerializeCompiledGraph(*parsed), bytes);
  EXPECT_EQ(parsed->slots[3].type, graph.slots[3].type);
  EXPECT_EQ(parsed->kernel_binaries[0].requirements,
            graph.kernel_binaries[0].requirements);
  EXPECT_EQ(parsed->plans.size(), graph.plans.size());
  EXPECT_TRUE(parsed->blobs[1].executable);
  EXPECT_GE(parsed->blobs[0].bytes.data(), aligned.bytes.data());
  EXPECT_LT(parsed->blobs[0].bytes.data(),
            aligned.bytes.data() + aligned.bytes.size());
}

TEST(CompiledGraphIo, EveryTruncationIsAnError) {
  const CompiledGraph graph = PlanWithEverything();
  const std::vector<std::byte> bytes = SerializeCompiledGraph(graph);
  // The last blob is empty and the one before ends 52 bytes short of it.
  const size_t needed = bytes.size() - 64 + 12;
  for (size_t size = 0; size < needed; ++size) {
    EXPECT_FALSE(ParseCompiledGraph(std::span(bytes).first(size), nullptr).ok())
        << size;
  }
}

TEST(CompiledGraphIo, OtherVersionsAreRefusedByName) {
  std::vector<std::byte> bytes = SerializeCompiledGraph(PlanWithEverything());
  bytes[4] = std::byte{99};
  const auto parsed = ParseCompiledGraph(bytes, nullptr);
  EXPECT_EQ(parsed.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(parsed.status()).find("version 99"), std::string::npos);
}

TEST(CompiledGraphIo, DamagedBytesAreSafe) {
  const std::vector<std::byte> good =
      SerializeCompiledGraph(PlanWithEverything());
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
