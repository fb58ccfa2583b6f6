// Files whose checksums are right and whose contents are not: every verb ends
// with an error of the file's, or shows what there is.

#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/package/package.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/testing/test_device.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/own_code.h"
#include "encore/tools/replay/replay_main.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using runtime::SlotId;
using ::testing::HasSubstr;

// y = relu(x) as a package with such a graph.
cache::Package PackageOf(runtime::CompiledGraph graph) {
  cache::Package package;
  cache::KeyIngredients ingredients;
  ingredients.parts = {{"option.precision", "f32"}};
  package.ingredients = cache::EncodeIngredients(ingredients);
  package.names = {{"x"}, {"y"}, {}, {"", "relu_1"}};
  package.graph =
      std::make_shared<const runtime::CompiledGraph>(std::move(graph));
  return package;
}

runtime::CompiledGraph Relu() {
  runtime::TestGraph test;
  const SlotId x = test.Tensor(runtime::SlotRole::kInput, Shape({2}));
  const SlotId y = test.Tensor(runtime::SlotRole::kOutput, Shape({2}));
  test.Launch("relu", {x}, {y});
  test.graph.run = test.run;
  test.graph.inputs = {x};
  test.graph.outputs = {y};
  return std::move(test.graph);
}

struct Outcome {
  int code;
  std::string out, err;
};

Outcome Replay(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "replay");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code =
      ReplayMain(static_cast<int>(argv.size()), argv.data(),
                 {"replay", LoadOwnCode, [](const std::string& path) {
                    return StatusOr<Literal>(NotFoundError(path));
                  }});
  return {code, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

class HostileFile : public testing::Test {
 protected:
  void Write(const cache::Package& package) const {
    const Status written = cache::WritePackage(package, path_);
    ASSERT_TRUE(written.ok()) << written;
  }
  const std::string path_ = testing::TempDir() + "/hostile.encore";
};

TEST_F(HostileFile, PlansThatNameWhatIsNotThere) {
  using runtime::CompiledGraph;
  using runtime::PlanId;
  const std::function<void(CompiledGraph&)> kChanges[] = {
      [](CompiledGraph& graph) { graph.inputs = {SlotId(99)}; },
      [](CompiledGraph& graph) { graph.outputs = {SlotId(1u << 31)}; },
      [](CompiledGraph& graph) { graph.outputs = {SlotId()}; },
      [](CompiledGraph& graph) { graph.parameters = {SlotId(2)}; },
      [](CompiledGraph& graph) { graph.run = PlanId(7); },
      [](CompiledGraph& graph) { graph.run = PlanId(); },
      [](CompiledGraph& graph) { graph.prepare = PlanId(7); },
      [](CompiledGraph& graph) { graph.plans.clear(); },
      [](CompiledGraph& graph) { graph.slots.clear(); },
      [](CompiledGraph& graph) { graph.kernel_binaries.clear(); },
      [](CompiledGraph& graph) { graph.slots[0].base = SlotId(99); },
      [](CompiledGraph& graph) {
        for (runtime::Slot& slot : graph.slots) {
          slot.is_arena = true;
          slot.bytes = Dim(int64_t{1} << 62);
        }
        graph.slots.insert(graph.slots.end(), 2, graph.slots[0]);
      },
  };
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    CompiledGraph graph = Relu();
    kChanges[i](graph);
    Write(PackageOf(std::move(graph)));
    for (const char* format : {"", "--json"}) {
      std::vector<std::string> arguments = {"info", path_};
      if (*format != '\0') arguments.push_back(format);
      const Outcome info = Replay(arguments);
      EXPECT_EQ(info.code, kExitOk) << i << info.err;
    }
    EXPECT_EQ(Replay({"dump", path_}).code, kExitUnusableInput) << i;
    for (const char* verb : {"verify", "run", "bench", "profile"}) {
      const Outcome done = Replay({verb, path_, "--trust"});
      EXPECT_EQ(done.code, kExitUnusableInput) << i << " " << verb;
      EXPECT_THAT(done.out + done.err, HasSubstr(path_)) << verb;
    }
  }
}

// Looking for each among those before it would take minutes.
TEST_F(HostileFile, AnyNumberOfIngredientsIsShownAtOnce) {
  cache::Package package = PackageOf(Relu());
  cache::KeyIngredients ingredients;
  for (int i = 0; i < 300'000; ++i) {
    ingredients.parts.emplace_back(StrCat("name", i), "value");
  }
  package.ingredients = cache::EncodeIngredients(ingredients);
  Write(package);
  const Outcome info = Replay({"info", path_});
  EXPECT_EQ(info.code, kExitOk) << info.err;
  EXPECT_THAT(info.out, HasSubstr("name299999 = value\n"));
}

TEST_F(HostileFile, NamesAreWrittenOut) {
  cache::Package package = PackageOf(Relu());
  package.names.inputs = {"\x1b[31m\n  parameters 7"};
  package.names.outputs = {"\xff\xe2\x80\xae"};
  Write(package);
  const Outcome info = Replay({"info", path_});
  EXPECT_THAT(info.out,
              HasSubstr("input      \\x1b[31m\\x0a  parameters 7: f32[2]\n"));
  EXPECT_THAT(info.out, HasSubstr("output     \\xff\\u202e: f32[2]\n"));
}

}  // namespace
}  // namespace encore::tools
