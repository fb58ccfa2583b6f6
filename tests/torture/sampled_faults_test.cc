// Calls of the system fail, drawn by a seed (ENCORE_TORTURE_SEED), on more ways
// through files than system_faults_test goes: a model with weights and a
// package compiled to code, and what else is kept in files, which is what the
// tuner measured, the profile of a machine, verdicts on rules, plans in files
// of their own, and graphs under names. Results are right; what is kept is
// whole, and kept again by the next run.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/session/checked_rules.h"
#include "encore/cache/session/named_entries.h"
#include "encore/cache/session/plan_file.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/torture/environment.h"
#include "encore/tests/torture/fault_trials.h"
#include "encore/tests/torture/scenario.h"
#include "encore/tools/tune/machine_file.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

// Whether calls go on to fail.
class SampledFaults : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { PrintFaults(); }
  // Tries one call in so many.
  std::string Try(int one_in, std::function<void()> restore,
                  std::function<std::string()> run,
                  std::function<std::string()> heal) const {
    return RunTrials({.restore = std::move(restore),
                      .run = std::move(run),
                      .heal = std::move(heal),
                      .lasting = GetParam(),
                      .one_in = one_in,
                      .seed = seed_});
  }
  std::shared_ptr<cache::DiskStore> Disk() const {
    const auto disk =
        cache::DiskStore::Open({.folder = store_, .log = [](auto) {}});
    return disk.ok() ? *disk : nullptr;
  }
  // Nothing where there is no store.
  std::optional<int> CountArtifacts() const {
    const auto disk = Disk();
    if (disk == nullptr) return std::nullopt;
    int found = 0;
    for (const auto& entry : disk->List()) found += entry.kind == "artifact";
    return found;
  }
  // What is not so of a store that has to have `count` artifacts, and nothing
  // that is left behind.
  std::string Artifacts(int count) const {
    const std::optional<int> kept = CountArtifacts();
    if (!kept) return "there is no store";
    const int found = *kept;
    if (found != count) return StrCat(found, " artifacts, expected ", count);
    const std::vector<std::string> left = LeftoversIn(folder_);
    return left.empty() ? "" : StrCat("left behind: ", left[0]);
  }

  const std::string folder_ = testing::TempDir() + "sampled_faults";
  const std::string store_ = folder_ + "/store";
  const uint64_t seed_ = Seed();
};

TEST_P(SampledFaults, OfCompiledCode) {
  const Scenario scenario(folder_, "cpu");
  const auto run = [&] { return scenario.RunWithFault(); };
  const auto heal = [&] { return scenario.Heal(); };
  EXPECT_EQ(Try(20, [&] { scenario.Reset(); }, run, heal), "");
  const auto warm = [&] {
    scenario.Reset();
    ASSERT_TRUE(scenario.Run().ok());
  };
  EXPECT_EQ(Try(20, warm, run, heal), "");
}

// y = relu(x * w), of integers, exact in any order.
class Tuned {
 public:
  Tuned() : x_(Integers({48, 192}, 5)) {
    GraphBuilder g("model");
    const Literal data = Integers({192, 80}, 3);
    const Value x = g.Input("x", x_.type());
    const Value w = g.Parameter("w", data.type(), data);
    graph_ = *g.Build({{"y", g.Relu(g.MatMul(x, w))}});
    expected_ = *Evaluate(graph_, {&x_, 1});
  }

  // Compiles, measures kernels and runs; Internal where the outputs are wrong.
  // What a session says is in log().
  Status Run(const std::string& folder) {
    backends::CompileOptions compile;
    compile.threads = 1;
    compile.tune_seconds = 60;
    log_.clear();
    cache::Session session(
        cache::StandardSessionOptions(compile, folder, uint64_t{1} << 30,
                                      [&](auto line) { log_ += line; }),
        &threads_);
    const auto loaded = session.Load(graph_);
    if (!loaded.ok()) return loaded.status();
    const auto outputs = (*loaded)->Run({&x_, 1});
    if (!outputs.ok()) return outputs.status();
    was_there_ = session.statistics().disk_hits == 1;
    return *outputs == expected_ ? OkStatus() : InternalError("wrong outputs");
  }
  const std::string& log() const { return log_; }
  // Whether the last run compiled nothing.
  bool was_there() const { return was_there_; }

 private:
  static Literal Integers(std::vector<int64_t> dims, int salt) {
    Literal literal(DType::kF32, std::move(dims));
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      literal.SetDouble(i, static_cast<double>((i * 7 + salt) % 11 - 5));
    }
    return literal;
  }

  const Literal x_;
  Graph graph_;
  std::vector<Literal> expected_;
  runtime::ThreadPool threads_{1};
  std::string log_;
  bool was_there_ = false;
};

TEST_P(SampledFaults, OfWhatTheTunerKeeps) {
  Tuned tuned;
  ASSERT_TRUE(tuned.Run(store_).ok());
  const int whole =
      CountArtifacts().value_or(0);  // of kernels, and of the plan
  ASSERT_GE(whole, 1);
  const auto run = [&]() -> std::string {
    const Status status = tuned.Run(store_);
    return status.ok() || CodeCannotRun(status) ? "" : Message(status);
  };
  const auto heal = [&]() -> std::string {
    for (int i = 0; i < 2; ++i) {
      const Status status = tuned.Run(store_);
      if (!status.ok()) return Message(status);
    }
    if (!tuned.was_there() || !tuned.log().empty()) {
      return StrCat("not kept: ", tuned.log());
    }
    // What could not be written is measured again once it is asked for: the
    // plan that was made with it has it too.
    for (const auto& entry : Disk()->List()) {
      if (entry.kind == "graph") fs::remove(entry.path);
    }
    const Status status = tuned.Run(store_);
    return status.ok() ? Artifacts(whole) : Message(status);
  };
  EXPECT_EQ(Try(10, [&] { fs::remove_all(store_); }, run, heal), "");
}

TEST_P(SampledFaults, OfVerdictsOnRules) {
  constexpr std::string_view kRight =
      "// sin(-x) = -sin(x)\n"
      "rule sine_of_negated exact { neg(sin(neg(%x))) -> sin(%x) }\n";
  constexpr std::string_view kWrong =
      "// cos(-x) = -cos(x)\n"
      "rule cosine_of_negated exact { neg(cos(neg(%x))) -> cos(%x) }\n";
  const auto run = [&]() -> std::string {
    std::unique_ptr<cache::DiskArtifactStore> store;
    if (auto disk = Disk()) {
      store = std::make_unique<cache::DiskArtifactStore>(std::move(disk));
    }
    const auto right = cache::CheckedRules(kRight, store.get());
    if (!right.ok()) return Message(right.status());
    const Status wrong = cache::CheckedRules(kWrong, store.get()).status();
    if (wrong.code() == StatusCode::kInvalidArgument) return "";
    return StrCat("a wrong rule: ", wrong);
  };
  const auto heal = [&] {
    const std::string wrong = run();
    return wrong.empty() ? Artifacts(1) : wrong;
  };
  EXPECT_EQ(Try(4, [&] { fs::remove_all(store_); }, run, heal), "");
}

TEST_P(SampledFaults, OfTheMachinesProfile) {
  namespace cpu = backends::cpu;
  const cpu::CpuInfo& host = cpu::HostCpu();
  cpu::MachineProfile former =
      cpu::AsIf(cpu::NearestClass(host, host.isa), host);
  cpu::MachineProfile latter = former;
  former.name = "former";
  latter.name = "latter";
  const std::string path = folder_ + "/machine.txt";
  const auto named = [&](const Status& status) {
    return Message(status).find(folder_) != std::string::npos;
  };
  const auto run = [&]() -> std::string {
    const Status written = tools::WriteMachineFile(path, latter);
    if (!written.ok() && !named(written)) return Message(written);
    const auto read = tools::ReadMachineFile(path);
    if (!read.ok()) return named(read.status()) ? "" : Message(read.status());
    if (!read->has_value()) return "there is none";
    const std::string& name = (*read)->name;
    return name == "latter" || (!written.ok() && name == "former") ? "" : name;
  };
  const auto heal = [&]() -> std::string {
    const auto read = tools::ReadMachineFile(path);
    if (!read.ok() || !read->has_value()) return "what was there is gone";
    const Status written = tools::WriteMachineFile(path, latter);
    if (!written.ok()) return Message(written);
    const std::vector<std::string> left = LeftoversIn(folder_);
    return left.empty() ? run() : StrCat("left behind: ", left[0]);
  };
  const auto restore = [&] {
    fs::remove_all(folder_);
    ASSERT_TRUE(tools::WriteMachineFile(path, former).ok());
  };
  EXPECT_EQ(Try(1, restore, run, heal), "");
}

// Sessions over y = x * 3, interpreted, which name what they say in log().
class Tripled {
 public:
  Tripled() : x_(DType::kF32, {4}), expected_(DType::kF32, {4}) {
    GraphBuilder g("model");
    const Value x = g.Input("x", x_.type());
    Literal three(DType::kF32, {4});
    for (int64_t i = 0; i < 4; ++i) {
      x_.SetDouble(i, static_cast<double>(i + 1));
      three.SetDouble(i, 3);
      expected_.SetDouble(i, 3 * x_.AsDouble(i));
    }
    graph_ = *g.Build({{"y", g.Mul(x, g.Constant(three))}});
  }

  const Graph& graph() const { return graph_; }
  const std::string& log() const { return log_; }

  // Keeps in no folder where none is named.
  std::unique_ptr<cache::Session> NewSession(const std::string& folder) {
    backends::CompileOptions compile;
    compile.target = "ref";
    log_.clear();
    cache::SessionOptions options = cache::StandardSessionOptions(
        compile, folder, uint64_t{1} << 30, [&](auto line) { log_ += line; });
    options.max_wait = std::chrono::milliseconds(20);
    return std::make_unique<cache::Session>(std::move(options), &threads_);
  }
  // What is not so of a load and a run; empty where all is right.
  std::string Check(cache::Session& session) const {
    const auto loaded = session.Load(graph_);
    if (!loaded.ok()) return Message(loaded.status());
    const auto outputs = (*loaded)->Run({&x_, 1});
    if (!outputs.ok()) return Message(outputs.status());
    return outputs->size() == 1 && (*outputs)[0] == expected_ ? ""
                                                              : "wrong outputs";
  }

 private:
  Literal x_, expected_;
  Graph graph_;
  runtime::ThreadPool threads_{1};
  std::string log_;
};

TEST_P(SampledFaults, OfPlansInFiles) {
  Tripled model;
  const std::string path = folder_ + "/plan.encore";
  const auto save = [&] {
    return cache::SavePlan(*model.NewSession(""), path, model.graph());
  };
  // In a session of its own.
  const auto load = [&](std::string* wrong) -> StatusOr<bool> {
    const auto session = model.NewSession("");
    auto found =
        cache::LoadPlan(*session, path, model.graph(), cache::CodeTrust::kRun);
    *wrong = model.Check(*session);
    if (wrong->empty() && found.ok() && *found &&
        session->statistics().misses != 0) {
      *wrong = "compiled all the same";
    }
    return found;
  };
  const auto run = [&]() -> std::string {
    std::string wrong;
    const Status saved = save();
    const auto found = load(&wrong);
    if (!wrong.empty()) return wrong;
    for (const Status& status : {saved, found.status()}) {
      if (status.ok() || CodeCannotRun(status)) continue;
      if (Message(status).find(folder_) == std::string::npos) {
        return StrCat("names no path: ", status);
      }
    }
    return "";
  };
  const auto heal = [&]() -> std::string {
    std::string wrong;
    for (const bool again : {false, true}) {
      if (again && !save().ok()) return "not saved";
      const auto found = load(&wrong);
      if (!wrong.empty()) return wrong;
      if (!found.ok() || !*found) return "what was there is gone";
    }
    const std::vector<std::string> left = LeftoversIn(folder_);
    return left.empty() ? "" : StrCat("left behind: ", left[0]);
  };
  const auto restore = [&] {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(save().ok());
  };
  EXPECT_EQ(Try(1, restore, run, heal), "");
}

TEST_P(SampledFaults, OfNamedEntries) {
  constexpr std::string_view kName = "mine";
  Tripled model;
  const auto run = [&]() -> std::string {
    const auto session = model.NewSession(store_);
    const auto key = cache::PutNamed(*session, kName, model.graph());
    if (!key.ok()) return Message(key.status());
    const auto other = model.NewSession(store_);
    const auto found = cache::GetNamed(*other, kName);
    if (found && *found != *key) return "another key";
    (void)cache::ContainsNamed(*other, kName);
    return model.Check(*other);
  };
  const auto heal = [&]() -> std::string {
    const std::string wrong = run();
    if (!wrong.empty()) return wrong;
    const auto session = model.NewSession(store_);
    if (!cache::ContainsNamed(*session, kName)) return "not kept";
    if (model.Check(*session) != "" || session->statistics().misses != 0) {
      return "not recalled";
    }
    if (!model.log().empty()) return StrCat("logged: ", model.log());
    const std::vector<std::string> left = LeftoversIn(folder_);
    return left.empty() ? "" : StrCat("left behind: ", left[0]);
  };
  EXPECT_EQ(Try(4, [&] { fs::remove_all(store_); }, run, heal), "");
}

INSTANTIATE_TEST_SUITE_P(Calls, SampledFaults, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "FromThenOn" : "Once";
                         });

}  // namespace
}  // namespace encore::torture
