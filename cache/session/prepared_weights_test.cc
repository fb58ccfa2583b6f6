#include "encore/cache/session/prepared_weights.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "encore/cache/session/write_behind.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;
using runtime::SlotId;
using runtime::SlotRole;

constexpr int64_t kSize = 4096;  // elements: large enough for pages of its own
using Floats = std::vector<float>;

// y = x + w, which replays read in place; with `derives`, y = x + w + -w.
std::shared_ptr<const runtime::Executable> Sum(bool derives,
                                               runtime::ThreadPool* threads) {
  runtime::TestGraph test;
  const SlotId x = test.Tensor(SlotRole::kInput, {kSize});
  const SlotId w = test.Tensor(SlotRole::kParameter, {kSize});
  const SlotId y = test.Tensor(SlotRole::kOutput, {kSize});
  test.Launch("add", {x, w}, {y});
  if (derives) {
    const SlotId d = test.Tensor(SlotRole::kDerived, {kSize});
    test.graph.prepare = AddPlan(&test.graph, {});
    test.Launch("neg", {w}, {d}, {}, test.graph.prepare);
    test.Launch("update", {d}, {y});
  }
  test.graph.run = test.run;
  test.graph.inputs = {x};
  test.graph.parameters = {w};
  test.graph.outputs = {y};
  auto executable = runtime::Executable::Load(
      std::make_shared<const runtime::CompiledGraph>(std::move(test.graph)),
      {std::make_shared<runtime::TestDevice>()}, threads);
  ENCORE_CHECK_OK(executable.status());
  return *std::move(executable);
}

class PreparedWeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    auto store = DiskStore::Open({.folder = folder_});
    ENCORE_CHECK_OK(store.status());
    store_ = *std::move(store);
  }

  // Twos, `shift` bytes past an aligned address.
  static Literal Twos(size_t shift) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(
        kSize * sizeof(float) + sizeof(float));
    const Floats values(kSize, 2);
    std::memcpy(bytes->data() + shift, values.data(), kSize * sizeof(float));
    auto literal = Literal::Map(
        DType::kF32, {kSize},
        std::span(*bytes).subspan(shift, kSize * sizeof(float)), bytes);
    ENCORE_CHECK_OK(literal.status());
    return *std::move(literal);
  }

  std::shared_ptr<const runtime::Weights> Get(
      const std::shared_ptr<const runtime::Executable>& executable,
      const Literal& parameter, bool* restored) {
    auto prepared =
        GetWeights(executable, Sha256Of("key"), std::span(&parameter, 1), {},
                   store_.get(), &threads_, &writes_);
    ENCORE_CHECK_OK(prepared.status());
    *restored = prepared->restored;
    return std::move(prepared->weights);
  }

  // The first element for x = 5.
  float Replay(const std::shared_ptr<const runtime::Executable>& executable,
               const std::shared_ptr<const runtime::Weights>& weights) {
    auto replayer = runtime::Replayer::Create(executable, weights, &threads_);
    ENCORE_CHECK_OK(replayer.status());
    const Floats x(kSize, 5);
    ENCORE_CHECK_OK((*replayer)->BindInput(0, x.data(), kSize * sizeof(float)));
    ENCORE_CHECK_OK((*replayer)->Replay());
    return *static_cast<const float*>((*replayer)->output(0).data);
  }

  // Whether replays read the parameter from an entry of the store.
  bool IsMapped(const runtime::Weights& weights) const {
    const auto at = reinterpret_cast<uintptr_t>(weights.parameters()[0]);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      uintptr_t begin = 0, end = 0;
      std::sscanf(line.c_str(), "%zx-%zx", &begin, &end);
      if (begin <= at && at < end) {
        return line.find("/v1/weights/") != std::string::npos;
      }
    }
    return false;
  }

  const std::string folder_ = StrCat(testing::TempDir(), "/prepared");
  runtime::ThreadPool threads_{1};
  std::shared_ptr<DiskStore> store_;
  WriteBehind writes_{false};
};

TEST_F(PreparedWeightsTest, ParametersThatHadToMoveAreMappedTheNextTime) {
  for (const bool derives : {true, false}) {
    SetUp();
    const auto executable = Sum(derives, &threads_);
    const float expected = derives ? 5 : 7;
    const Literal shifted = Twos(1);
    bool restored = false;
    auto weights = Get(executable, shifted, &restored);
    EXPECT_FALSE(restored);
    EXPECT_FALSE(IsMapped(*weights));
    EXPECT_EQ(Replay(executable, weights), expected);
    weights = Get(executable, shifted, &restored);
    EXPECT_TRUE(restored);
    EXPECT_TRUE(IsMapped(*weights));
    EXPECT_EQ(Replay(executable, weights), expected);
    EXPECT_TRUE(store_->Bad().empty());
  }
}

TEST_F(PreparedWeightsTest, AnEntryMadeOfAlignedWeightsServesShiftedOnes) {
  const auto executable = Sum(true, &threads_);
  const Literal aligned = Twos(0), shifted = Twos(1);
  bool restored = false;
  auto weights = Get(executable, aligned, &restored);
  EXPECT_EQ(weights->parameters()[0], aligned.bytes().data());
  weights = Get(executable, shifted, &restored);
  EXPECT_TRUE(restored);
  EXPECT_FALSE(IsMapped(*weights));
  EXPECT_EQ(Replay(executable, weights), 5);
  weights = Get(executable, shifted, &restored);
  EXPECT_TRUE(IsMapped(*weights));
  EXPECT_EQ(Replay(executable, weights), 5);
}

TEST_F(PreparedWeightsTest, NothingIsKeptWhereNothingWasMade) {
  bool restored = false;
  Get(Sum(false, &threads_), Twos(0), &restored);
  EXPECT_FALSE(restored);
  EXPECT_TRUE(store_->List().empty());
}

}  // namespace
}  // namespace encore::cache
