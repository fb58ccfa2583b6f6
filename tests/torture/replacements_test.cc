// A model and its weights are replaced while they are read: by files that are
// renamed into their place, by links that lead elsewhere, with times put back.
// What a run gives is what the files said together at one moment of the run;
// one that begins after a change is complete gives no older version. Of writes
// in place the runs after them are judged. One store keeps what all runs make.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;
using onnx::Proto;

// Large enough to be mapped, not copied.
constexpr int64_t kSize = 4096;

// y = x * w + b: w, of the weights' version, lies in weights.bin, b, of the
// model's, in the model.
std::string ModelBytes(int version) {
  Proto weights;
  weights.Int(1, kSize).Int(2, 1).Bytes(8, "w").Int(14, 1);
  weights.Sub(13, Proto().Bytes(1, "location").Bytes(2, "weights.bin"));
  const auto value = static_cast<float>(version);
  const std::string_view bytes(reinterpret_cast<const char*>(&value),
                               sizeof(value));
  Proto graph;
  graph.Sub(1, onnx::Node("Mul", {"x", "w"}, {"m"}));
  graph.Sub(1, onnx::Node("Add", {"m", "b"}, {"y"})).Bytes(2, "g");
  graph.Sub(5, weights);
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
  const std::vector<float> values(kSize, static_cast<float>(version));
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

// Versions of the weights and of the model.
using State = std::pair<int, int>;

class Replacements : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    states_ = {{1, 1}};
    Replace("weights.bin", WeightBytes(1));
    Replace("m.onnx", ModelBytes(1));
  }

  std::string Path(std::string_view name) const {
    return StrCat(folder_, "/", name);
  }
  void Replace(std::string_view name, const std::string& bytes) const {
    const std::string staged = Path(StrCat(name, ".new"));
    std::ofstream(staged, std::ios::binary) << bytes;
    fs::rename(staged, Path(name));
  }

  // What a run gives: x is 1000.
  std::optional<State> Run() {
    const auto model = ImportModel(Path("m.onnx"));
    if (!model.ok()) {
      // Changed three times in a row.
      EXPECT_EQ(model.status().code(), StatusCode::kFailedPrecondition)
          << model.status();
      return std::nullopt;
    }
    backends::CompileOptions compile;
    compile.target = "ref";
    cache::Session session(
        cache::StandardSessionOptions(compile, Path("store"), uint64_t{1} << 30,
                                      [](auto) {}),
        &threads_);
    cache::LoadOptions load;
    load.source = Path("m.onnx");
    load.files = model->files;
    session.Anticipate(load.source);
    const auto loaded = session.Load(model->graph, load);
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.status();
      return std::nullopt;
    }
    Literal x(DType::kF32, {1});
    x.SetDouble(0, 1000);
    const auto y = (*loaded)->Run({&x, 1});
    if (!y.ok()) {
      ADD_FAILURE() << y.status();
      return std::nullopt;
    }
    const auto value = static_cast<int>((*y)[0].AsDouble(kSize - 1));
    EXPECT_EQ((*y)[0].AsDouble(0), value);
    return State(value / 1000, value % 1000);
  }

  // The state after a change of one version; announces it first.
  State Next(bool is_model) {
    State next = states_[done_];
    ++(is_model ? next.second : next.first);
    states_[done_ + 1] = next;
    begun_ = done_ + 1;
    return next;
  }

  // Changes one file after the other by `change(is_model, state)` while runs
  // read them.
  template <typename Change>
  void Judge(const Change& change) {
    constexpr int kChanges = 150;
    states_.resize(kChanges + 1);
    std::thread writer([&] {
      std::mt19937 random(1);
      for (int i = 0; i < kChanges; ++i) {
        const bool is_model = i % 2 == 0;
        change(is_model, Next(is_model));
        ++done_;
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
      }
    });
    int runs = 0, refused = 0;
    while (done_ < kChanges) {
      const int first = done_;
      const auto state = Run();
      const int last = begun_;
      ++runs;
      refused += !state;
      if (!state) continue;
      bool was_there = false;
      for (int i = first; i <= last; ++i) was_there |= states_[i] == *state;
      EXPECT_TRUE(was_there)
          << "weights " << state->first << ", model " << state->second
          << " between " << states_[first].first << ", "
          << states_[first].second << " and " << states_[last].first << ", "
          << states_[last].second;
    }
    writer.join();
    EXPECT_EQ(Run(), states_[kChanges]);
    std::cout << runs << " runs, " << refused << " refused\n";
  }

  const std::string folder_ = testing::TempDir() + "replacements";
  runtime::ThreadPool threads_{1};
  std::vector<State> states_;
  std::atomic<int> begun_ = 0, done_ = 0;
};

TEST_F(Replacements, ByRenaming) {
  Judge([&](bool is_model, State state) {
    if (is_model) {
      Replace("m.onnx", ModelBytes(state.second));
    } else {
      Replace("weights.bin", WeightBytes(state.first));
    }
  });
}

// All versions have the same times but for that of change, which nobody sets.
TEST_F(Replacements, WithTimesPutBack) {
  const auto time = fs::last_write_time(Path("m.onnx"));
  Judge([&](bool is_model, State state) {
    const std::string staged = Path("staged");
    std::ofstream(staged, std::ios::binary)
        << (is_model ? ModelBytes(state.second) : WeightBytes(state.first));
    fs::last_write_time(staged, time);
    fs::rename(staged, Path(is_model ? "m.onnx" : "weights.bin"));
  });
}

TEST_F(Replacements, ByLinksThatLeadElsewhere) {
  Judge([&](bool is_model, State state) {
    const std::string name = is_model ? StrCat("model", state.second)
                                      : StrCat("weights", state.first);
    std::ofstream(Path(name), std::ios::binary)
        << (is_model ? ModelBytes(state.second) : WeightBytes(state.first));
    fs::create_symlink(name, Path("link"));
    fs::rename(Path("link"), Path(is_model ? "m.onnx" : "weights.bin"));
  });
}

// Without a moment between the write and the run, and twice within what a
// clock of files tells apart.
TEST_F(Replacements, InPlace) {
  for (int version = 2; version < 60; ++version) {
    const std::string bytes = WeightBytes(version);
    const int fd = open(Path("weights.bin").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(fsync(fd), 0);
    close(fd);
    EXPECT_EQ(Run(), State(version, 1));
  }
}

}  // namespace
}  // namespace encore::torture
