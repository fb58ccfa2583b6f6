// A model and its weights are replaced while eight processes read them: by
// files that are renamed into their place, by links that lead elsewhere, in
// place, and with times put back. What a run gives is what the files said
// together at one moment of the run; one that begins after a change is complete
// gives no older version. Of writes in place the runs after them are judged.
// One store keeps what all runs make, and contents come again.
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/faulty_system.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/torture/environment.h"
#include "encore/tests/torture/race.h"
#include "encore/tests/torture/writers.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;
using onnx::Proto;

// Large enough to be mapped, not copied.
constexpr int64_t kSize = 4096;
// Versions go around, so that what is kept of one is used again.
constexpr int kVersions = 16;
constexpr int64_t kX = 1000;

// A tensor of the weights' file.
Proto Weights(std::string_view name, int64_t offset) {
  const auto entry = [](std::string_view key, std::string_view value) {
    return Proto().Bytes(1, key).Bytes(2, value);
  };
  Proto weights;
  weights.Int(1, kSize).Int(2, 1).Bytes(8, name).Int(14, 1);
  weights.Sub(13, entry("location", "weights.bin"));
  weights.Sub(13, entry("offset", StrCat(offset)));
  return weights.Sub(13, entry("length", StrCat(kSize * sizeof(float))));
}

// y = x * (abs(v) + abs(w)) + b: v and w, of the weights' version, lie in
// weights.bin, b, of the model's, in the model. abs(v) + abs(w) is made once
// for each set of weights, and kept.
std::string ModelBytes(int version) {
  const auto value = static_cast<float>(version);
  const std::string_view bytes(reinterpret_cast<const char*>(&value),
                               sizeof(value));
  Proto graph;
  graph.Sub(1, onnx::Node("Abs", {"v"}, {"c"}));
  graph.Sub(1, onnx::Node("Abs", {"w"}, {"d"}));
  graph.Sub(1, onnx::Node("Add", {"c", "d"}, {"s"}));
  graph.Sub(1, onnx::Node("Mul", {"x", "s"}, {"m"}));
  graph.Sub(1, onnx::Node("Add", {"m", "b"}, {"y"})).Bytes(2, "g");
  graph.Sub(5, Weights("v", 0)).Sub(5, Weights("w", kSize * sizeof(float)));
  graph.Sub(5, Proto().Int(2, 1).Bytes(8, "b").Bytes(9, bytes));
  graph.Sub(11, onnx::TensorInput("x", {"1"}));
  graph.Sub(12, Proto().Bytes(1, "y"));
  return Proto()
      .Int(1, 8)
      .Sub(8, Proto().Bytes(1, "").Int(2, 21))
      .Sub(7, graph)
      .bytes();
}

std::string WeightBytes(int version) {
  const std::vector<float> values(2 * kSize, static_cast<float>(-version));
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

// The value that all elements of the outputs have; Internal where they are not
// alike.
StatusOr<int64_t> ValueOf(const std::vector<Literal>& outputs) {
  const Literal& y = outputs.at(0);
  for (int64_t i = 1; i < kSize; ++i) {
    if (y.AsDouble(i) != y.AsDouble(0)) {
      return InternalError(StrCat("elements of two versions: ", y.AsDouble(0),
                                  " and, at ", i, ", ", y.AsDouble(i)));
    }
  }
  return static_cast<int64_t>(y.AsDouble(0));
}

struct Versions {
  int weights = 1, model = 1;

  // What a run gives.
  int64_t state() const { return 2 * kX * weights + model; }
};

class Replacements : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Replace(Path("weights.bin"), WeightBytes(1), Way::kRename);
    Replace(Path("m.onnx"), ModelBytes(1), Way::kRename);
  }

  std::string Path(std::string_view name) const {
    return StrCat(folder_, "/", name);
  }

  // What a run gives; where `packs`, which it packs, reads back and finds to be
  // the same.
  StatusOr<int64_t> RunOnce(bool packs = false) const;
  StatusOr<int64_t> ReadBack(const cache::SessionOptions& options) const;

  const std::string folder_ = testing::TempDir() + "replacements";
};

StatusOr<int64_t> Replacements::ReadBack(
    const cache::SessionOptions& options) const {
  runtime::ThreadPool threads(1);
  ENCORE_ASSIGN_OR_RETURN(const cache::Package package,
                          cache::ReadPackage(Path(StrCat(getpid()))));
  ENCORE_ASSIGN_OR_RETURN(
      const auto loaded,
      cache::LoadPackage(package, options.compiler.devices, &threads));
  const cache::Package::Call& call = package.calls.at(0);
  ENCORE_ASSIGN_OR_RETURN(const auto outputs, loaded->Run(call.inputs));
  ENCORE_ASSIGN_OR_RETURN(const int64_t recorded, ValueOf(call.outputs));
  ENCORE_ASSIGN_OR_RETURN(const int64_t value, ValueOf(outputs));
  if (value == recorded) return value;
  return InternalError(
      StrCat("recorded ", recorded, ", but the package gives ", value));
}

StatusOr<int64_t> Replacements::RunOnce(bool packs) const {
  runtime::ThreadPool threads(1);
  ENCORE_ASSIGN_OR_RETURN(const ImportedModel model,
                          ImportModel(Path("m.onnx")));
  backends::CompileOptions compile;
  compile.target = "ref";
  const cache::SessionOptions options = cache::StandardSessionOptions(
      compile, Path("store"), uint64_t{1} << 30, [](auto) {});
  cache::Session session(options, &threads);
  cache::LoadOptions load;
  load.source = Path("m.onnx");
  load.files = model.files;
  session.Anticipate(load.source);
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(model.graph, load));
  Literal x(DType::kF32, {1});
  x.SetDouble(0, kX);
  ENCORE_ASSIGN_OR_RETURN(const auto outputs, loaded->Run({&x, 1}));
  ENCORE_ASSIGN_OR_RETURN(const int64_t value, ValueOf(outputs));
  if (!packs) return value;
  const cache::Package::Call call{{x}, {}};
  const Status written = cache::Record(session, Path(StrCat(getpid())),
                                       model.graph, {&call, 1}, load);
  // Changed since it was read: nothing to look at.
  if (written.code() == StatusCode::kFailedPrecondition) return value;
  ENCORE_RETURN_IF_ERROR(written);
  ENCORE_ASSIGN_OR_RETURN(const int64_t packed, ReadBack(options));
  if (packed == value) return value;
  return InternalError(StrCat("ran ", value, ", packed ", packed));
}

class EachWay : public Replacements, public testing::WithParamInterface<Way> {};

TEST_P(EachWay, WhileEightRead) {
  const int changes = Rounds(100);
  std::mt19937_64 random(Seed());
  std::vector<Versions> versions(1);
  std::vector<int64_t> states = {versions[0].state()};
  std::vector<bool> is_model(1);
  for (int i = 1; i <= changes; ++i) {
    versions.push_back(versions.back());
    is_model.push_back(random() % 2 == 0);
    int& version = is_model[i] ? versions[i].model : versions[i].weights;
    version = version % kVersions + 1;
    states.push_back(versions[i].state());
  }
  const auto change = [&](int i) {
    if (is_model[i]) {
      Replace(Path("m.onnx"), ModelBytes(versions[i].model), GetParam());
    } else {
      Replace(Path("weights.bin"), WeightBytes(versions[i].weights),
              GetParam());
    }
  };
  const bool in_place = IsInPlace(GetParam());
  const RaceResult result =
      RunRace({.states = states,
               .in_place = in_place,
               .seed = random(),
               .change = change,
               .read = [&] { return RunOnce(!in_place); }});
  std::cout << changes << " changes, " << result << "\n";
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.died, 0);
  EXPECT_GT(result.unchanged, changes / 8);
  // Nothing of what was kept meanwhile is of two versions.
  for (int version = 1; version <= kVersions; ++version) {
    Replace(Path("weights.bin"), WeightBytes(version), GetParam());
    Replace(Path("m.onnx"), ModelBytes(version), GetParam());
    const auto state = RunOnce(true);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(*state, (Versions{version, version}.state()));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, EachWay, testing::ValuesIn(kWays),
                         [](const auto& info) {
                           return std::string(Name(info.param));
                         });

// Without a moment between the write and the run, and twice within what a
// clock of files tells apart: the weights, and the model itself.
TEST_F(Replacements, InPlaceBeforeEachRun) {
  for (const bool is_model : {false, true}) {
    for (const Way way : {Way::kInPlace, Way::kInPlaceTimes}) {
      for (int version = 2; version < 40; ++version) {
        if (is_model) {
          Replace(Path("m.onnx"), ModelBytes(version), way);
        } else {
          Replace(Path("weights.bin"), WeightBytes(version), way);
        }
        const auto state = RunOnce();
        ASSERT_TRUE(state.ok()) << state.status();
        EXPECT_EQ(
            *state,
            (is_model ? Versions{39, version} : Versions{version, 1}).state());
      }
      if (!is_model) continue;
      Replace(Path("m.onnx"), ModelBytes(1), way);
    }
  }
}

// This machine's clock is not that of the files, which says a new time once a
// second: versions follow each other within it, and come again.
TEST_F(Replacements, BetweenRunsWhileClocksLie) {
  FaultySystem system;
  const ScopedSystemCalls scope(&system);
  const auto expect = [&](int version) {
    const auto state = RunOnce();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(*state, (Versions{version, 1}.state()));
  };
  for (const int64_t hours : {1, 24 * 365 * 50, -1}) {
    for (const Way way : kWays) {
      system.set_file_tick_ns(1'000'000'000);
      system.set_clock_offset_ns(hours * 3600 * 1'000'000'000);
      for (int version = 1; version <= 5; ++version) {
        Replace(Path("weights.bin"), WeightBytes(version), way);
        expect(version);
        expect(version);
      }
    }
    // What was kept meanwhile is of the bytes that it says.
    system.Stop();
    for (int version = 5; version >= 1; --version) {
      Replace(Path("weights.bin"), WeightBytes(version), Way::kRename);
      expect(version);
    }
  }
}

// Changes a file whenever it was opened and mapped, so many times.
class ChangingSystem final : public WatchedSystem {
 public:
  ChangingSystem(std::string name, int times,
                 std::function<void(int time)> change)
      : name_(std::move(name)), times_(times), change_(std::move(change)) {}

  int opened() const { return opened_; }

  int OpenAt(int folder, const char* path, int flags, mode_t mode) override {
    const int fd = SystemCalls::OpenAt(folder, path, flags, mode);
    if (std::string_view(path).find(name_) != std::string_view::npos) fd_ = fd;
    return fd;
  }
  void* MMap(void* at, size_t size, int protection, int flags, int fd,
             off_t offset) override {
    void* const data =
        SystemCalls::MMap(at, size, protection, flags, fd, offset);
    if (fd != fd_) return data;
    fd_ = -1;
    // Past the granularity of the clock of files.
    usleep(20'000);
    if (opened_++ < times_) change_(opened_);
    return data;
  }

 private:
  int Before(SystemCall) override { return 0; }

  const std::string name_;
  const int times_;
  const std::function<void(int)> change_;
  int fd_ = -1, opened_ = 0;
};

// Which file changes, how, and how often.
class Changing
    : public Replacements,
      public testing::WithParamInterface<std::tuple<const char*, Way>> {
 protected:
  StatusOr<int64_t> RunWhileChanging(int times) {
    const std::string name = std::get<0>(GetParam());
    const auto change = [&](int time) {
      Replace(Path(name),
              name == "m.onnx" ? ModelBytes(1 + time) : WeightBytes(1 + time),
              std::get<1>(GetParam()));
    };
    ChangingSystem system(StrCat("/", name), times, change);
    const ScopedSystemCalls scope(&system);
    const auto state = RunOnce();
    opened_ = system.opened();
    return state;
  }
  int64_t StateOf(int version) const {
    const bool is_model = std::get<0>(GetParam()) == std::string("m.onnx");
    return (is_model ? Versions{1, version} : Versions{version, 1}).state();
  }

  int opened_ = 0;
};

TEST_P(Changing, TwiceIsReadAThirdTime) {
  const auto state = RunWhileChanging(2);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, StateOf(3));
  EXPECT_EQ(opened_, 3);
}

TEST_P(Changing, ThreeTimesIsAnErrorThatNamesTheFile) {
  const auto state = RunWhileChanging(3);
  EXPECT_EQ(state.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(state.status()).find(std::get<0>(GetParam())),
            std::string::npos)
      << state.status();
  EXPECT_NE(Message(state.status()).find("changed each time"),
            std::string::npos)
      << state.status();
  EXPECT_EQ(opened_, 3);
  // Once it is left alone.
  const auto after = RunOnce();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(*after, StateOf(4));
}

INSTANTIATE_TEST_SUITE_P(
    Files, Changing,
    testing::Combine(testing::Values("m.onnx", "weights.bin"),
                     testing::ValuesIn(kWays)),
    [](const auto& info) {
      return StrCat(std::get<0>(info.param)[0] == 'm' ? "Model" : "Weights",
                    Name(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace encore::torture
