// Two versions of Encore in one cache folder: programs whose compilers differ
// (as CompilerId says), and entries of a version that writes what this one
// cannot read. Neither takes, sets aside or removes what the other keeps, and
// collecting sees both.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/key/compiler_id.h"
#include "encore/cache/key/ingredients.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {

std::string_view compiler = "the compiler of one version";

// In the place of cache::CompilerId, by its symbol: this program is of any
// version, and does not link the build's own.
std::string_view AnyCompilerId() asm("_ZN6encore5cache10CompilerIdEv");
std::string_view AnyCompilerId() { return compiler; }

namespace {

namespace fs = std::filesystem;
using cache::ContainerWriter;
using cache::DiskStore;
using cache::SectionType;

constexpr std::string_view kCompilers[] = {"one version", "another version"};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

class Versions : public testing::Test {
 protected:
  void SetUp() override { scenario_.Reset(); }

  Scenario::Outcome RunAs(std::string_view compiler) {
    torture::compiler = compiler;
    return scenario_.Run();
  }
  std::shared_ptr<DiskStore> Disk() {
    auto disk = DiskStore::Open({.folder = scenario_.store()});
    ENCORE_CHECK_OK(disk.status());
    return *disk;
  }
  // The bytes of entries, by path.
  std::map<std::string, std::string> Entries() {
    std::map<std::string, std::string> entries;
    for (const DiskStore::Entry& entry : Disk()->List()) {
      entries.emplace(entry.path, ReadAll(entry.path));
    }
    return entries;
  }
  static void ExpectCompiled(const Scenario::Outcome& outcome) {
    EXPECT_TRUE(outcome.ok()) << outcome.load << " " << outcome.package;
    EXPECT_EQ(outcome.statistics.misses, 1);
    EXPECT_TRUE(outcome.log.empty()) << outcome.log[0];
  }
  static void ExpectRecalled(const Scenario::Outcome& outcome) {
    EXPECT_TRUE(outcome.ok()) << outcome.load << " " << outcome.package;
    EXPECT_EQ(outcome.statistics.misses, 0);
    EXPECT_TRUE(outcome.log.empty()) << outcome.log[0];
  }

  const std::string folder_ = testing::TempDir() + "versions";
  Scenario scenario_{folder_, "ref"};
};

TEST_F(Versions, EachKeepsItsOwn) {
  torture::compiler = kCompilers[1];
  ASSERT_EQ(cache::CompilerId(), kCompilers[1]);
  for (const std::string_view compiler : kCompilers) {
    ExpectCompiled(RunAs(compiler));
  }
  const auto entries = Entries();
  for (int round = 0; round < 2; ++round) {
    for (const std::string_view compiler : kCompilers) {
      ExpectRecalled(RunAs(compiler));
    }
  }
  // What either has is as it was written.
  const auto after = Entries();
  for (const auto& [path, bytes] : entries) {
    EXPECT_TRUE(after.contains(path) && after.at(path) == bytes) << path;
  }
  EXPECT_TRUE(LeftoversIn(folder_).empty());
}

// Entries of a later version: under keys of that version, of the container's
// and the compiled graph's, and under names that both use.
TEST_F(Versions, WhatALaterOneWritesStays) {
  ExpectCompiled(RunAs(kCompilers[0]));
  std::map<std::string, std::string> theirs;
  for (const DiskStore::Entry& entry : Disk()->List()) {
    if (entry.kind != cache::kGraphKind) continue;
    const auto container = cache::Container::Open(entry.path);
    ENCORE_CHECK_OK(container.status());
    auto ingredients = cache::ReadEntryIngredients(**container);
    ENCORE_CHECK_OK(ingredients.status());
    ingredients->parts.front().second += "0";  // the format version
    ContainerWriter writer;
    writer.AddOwned(SectionType::kHeadline,
                    cache::EncodeIngredients(*ingredients));
    writer.AddOwned(SectionType::kCompiledGraph, "ECG1\x63 of some other form");
    writer.AddOwned(static_cast<SectionType>(99), "of a later version");
    const Digest key = cache::KeyOf(*ingredients);
    ASSERT_TRUE(Disk()->Put(cache::kGraphKind, key, writer));
  }
  const auto before = Entries();
  for (int round = 0; round < 3; ++round) ExpectRecalled(RunAs(kCompilers[0]));
  const auto after = Entries();
  for (const auto& [path, bytes] : before) {
    EXPECT_TRUE(after.contains(path) && after.at(path) == bytes) << path;
  }
  EXPECT_TRUE(Disk()->Bad().empty());
}

// Processes of both at once, while the store is made and after it.
TEST_F(Versions, BothAtOnce) {
  constexpr int kProcesses = 6, kRounds = 5;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(StartChild([&, i] {
      torture::compiler = kCompilers[i % 2];
      Scenario scenario(folder_, "ref");
      scenario.set_package(StrCat("m", i, ".encore"));
      int wrong = 0;
      for (int round = 0; round < kRounds; ++round) {
        const Scenario::Outcome outcome = scenario.Run();
        wrong += !outcome.ok();
        // Once compiled, by this process or another, it is there.
        if (round > 0) wrong += outcome.statistics.misses > 0;
      }
      return wrong;
    }));
  }
  for (const pid_t child : children) {
    const int status = WaitForChild(child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const std::string_view compiler : kCompilers) {
    ExpectRecalled(RunAs(compiler));
  }
  int graphs = 0;
  for (const DiskStore::Entry& entry : Disk()->List()) {
    graphs += entry.kind == cache::kGraphKind;
  }
  EXPECT_EQ(graphs, 2);
  EXPECT_TRUE(LeftoversIn(folder_).empty());
}

// What collecting removes is what was not used for longest, whoever wrote it.
TEST_F(Versions, CollectingSeesBoth) {
  for (const std::string_view compiler : kCompilers) {
    ExpectCompiled(RunAs(compiler));
  }
  // Those of the first version were used a day ago.
  torture::compiler = kCompilers[0];
  std::set<std::string> old;
  uint64_t bytes = 0;
  for (const DiskStore::Entry& entry : Disk()->List()) {
    const bool of_first =
        ReadAll(entry.path).find(kCompilers[1]) == std::string::npos &&
        entry.kind == cache::kGraphKind;
    bytes += entry.bytes;
    if (!of_first) continue;
    old.insert(entry.path);
    const auto time = fs::last_write_time(entry.path);
    fs::last_write_time(entry.path, time - std::chrono::hours(24));
  }
  ASSERT_EQ(old.size(), 1);
  const auto collect_as = [&](std::string_view compiler) {
    torture::compiler = compiler;
    return Disk()->Collect(bytes - 1);
  };
  EXPECT_EQ(collect_as(kCompilers[1]), 1);
  EXPECT_FALSE(fs::exists(*old.begin()));
  ExpectRecalled(RunAs(kCompilers[1]));
  ExpectCompiled(RunAs(kCompilers[0]));
  // All goes, whoever asks.
  torture::compiler = kCompilers[0];
  Disk()->Collect(0);
  EXPECT_TRUE(Disk()->List().empty());
}

}  // namespace
}  // namespace encore::torture
