// A package, or a recording, is replaced while eight processes load it and run
// it: by Encore, and by others in every way there is. A run gives what one
// version of the file says, none older than what was there when it began, and
// of a recording the outputs that are recorded in it. Four processes write it
// at once: each succeeds.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/torture/environment.h"
#include "encore/tests/torture/race.h"
#include "encore/tests/torture/writers.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSize = 4096;
constexpr int kVersions = 16;

// Numbers that are all the same.
Literal Filled(int64_t size, double value) {
  Literal literal(DType::kF32, {size});
  for (int64_t i = 0; i < size; ++i) literal.SetDouble(i, value);
  return literal;
}

// y = x * abs(w), w of one value: what the weights are made to lies in the
// package too.
Graph Model(int version) {
  GraphBuilder g("model");
  const Literal data = Filled(kSize, -version);
  const Value x = g.Input("x", {DType::kF32, {1}});
  const Value w = g.Parameter("w", data.type(), data);
  return *g.Build({{"y", g.Mul(x, g.Abs(w))}});
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

// Whether the file has calls, and who replaces it how: nothing for Encore.
using Case = std::tuple<bool, std::optional<Way>>;

class PackageReplacements : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override;
  StatusOr<int64_t> RunOnce() const;
  void ReplaceBy(int version) const {
    if (const auto way = std::get<1>(GetParam())) {
      Replace(path_, bytes_[version - 1], *way);
    } else {
      ENCORE_CHECK_OK(cache::WritePackage(packages_[version - 1], path_));
    }
  }

  const std::string folder_ = testing::TempDir() + "package_replacements";
  const std::string path_ = folder_ + "/m.encore";
  const Literal x_ = Filled(1, 3);
  cache::SessionOptions options_;
  // By version, from 1.
  std::vector<std::string> bytes_;
  std::vector<cache::Package> packages_;
};

void PackageReplacements::SetUp() {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  runtime::ThreadPool threads(1);
  backends::CompileOptions compile;
  compile.target = "cpu";
  options_ = cache::StandardSessionOptions(compile, folder_ + "/store",
                                           uint64_t{1} << 30, [](auto) {});
  cache::Session session(options_, &threads);
  std::vector<cache::Package::Call> calls;
  if (std::get<0>(GetParam())) calls.push_back({{x_}, {}});
  for (int version = 1; version <= kVersions; ++version) {
    const std::string path = StrCat(folder_, "/", version);
    ENCORE_CHECK_OK(cache::Record(session, path, Model(version), calls));
    bytes_.push_back(BytesOf(path));
    auto package = cache::ReadPackage(path);
    ENCORE_CHECK_OK(package.status());
    packages_.push_back(*std::move(package));
  }
  Replace(path_, bytes_[0], Way::kRename);
}

StatusOr<int64_t> PackageReplacements::RunOnce() const {
  runtime::ThreadPool threads(1);
  ENCORE_ASSIGN_OR_RETURN(const cache::Package package,
                          cache::ReadPackage(path_));
  ENCORE_ASSIGN_OR_RETURN(
      const auto loaded,
      cache::LoadPackage(package, options_.compiler.devices, &threads));
  ENCORE_ASSIGN_OR_RETURN(const auto outputs, loaded->Run({&x_, 1}));
  for (const cache::Package::Call& call : package.calls) {
    if (call.outputs != outputs) {
      return InternalError("outputs of another version are recorded");
    }
  }
  const Literal& y = outputs.at(0);
  const double value = y.AsDouble(0);
  if (y != Filled(kSize, value)) return InternalError("of two versions");
  return static_cast<int64_t>(value) / 3;
}

TEST_P(PackageReplacements, WhileEightRun) {
  const int changes = Rounds(100);
  std::mt19937_64 random(Seed());
  std::vector<int64_t> versions = {1};
  for (int i = 1; i <= changes; ++i) {
    versions.push_back(static_cast<int64_t>(random() % kVersions) + 1);
  }
  const auto way = std::get<1>(GetParam());
  const RaceResult result = RunRace(
      {.states = versions,
       .in_place = way && IsInPlace(*way),
       .seed = random(),
       .change = [&](int i) { ReplaceBy(static_cast<int>(versions[i])); },
       .read = [&] { return RunOnce(); }});
  std::cout << changes << " changes, " << result << "\n";
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.died, 0);
  EXPECT_GT(result.unchanged, changes / 8);
  // Nobody's package changes three times while it is opened once.
  if (!way || !IsInPlace(*way)) {
    EXPECT_EQ(result.refused, 0);
  }
  const auto last = RunOnce();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(*last, versions.back());
}

using SeveralWriters = PackageReplacements;

TEST_P(SeveralWriters, AllSucceed) {
  constexpr int kWriters = 4;
  const int rounds = Rounds(50);
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(StartChild([&] {
      for (int i = 0; i < rounds; ++i) {
        const Status written = cache::WritePackage(packages_[writer], path_);
        if (written.ok()) continue;
        std::cout << written << "\n";
        return 1;
      }
      return 0;
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(WaitForChild(writer), 0);
  const auto last = RunOnce();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_GE(*last, 1);
  EXPECT_LE(*last, kWriters);
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  const auto way = std::get<1>(info.param);
  return StrCat(std::get<0>(info.param) ? "Recording" : "Package",
                way ? Name(*way) : "Encore");
}

INSTANTIATE_TEST_SUITE_P(Files, SeveralWriters,
                         testing::Combine(testing::Bool(),
                                          testing::Values(std::nullopt)),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    Files, PackageReplacements,
    testing::Combine(testing::Bool(),
                     testing::Values(std::nullopt, Way::kRename,
                                     Way::kRenameTimes, Way::kLink,
                                     Way::kInPlace, Way::kInPlaceTimes)),
    NameOf);

}  // namespace
}  // namespace encore::torture
