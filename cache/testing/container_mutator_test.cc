// What the mutator of containers has to do to be of use: all that it is given
// arrives, and mutants get past checksums to every stage of a load.
#include "encore/cache/testing/container_mutator.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/cache/testing/hostile_load.h"
#include "encore/cache/testing/payload_tokens.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{1} << 16;
constexpr int kMutants = 60;  // of each file

// The seeds of a fuzz target, without what it found.
std::vector<std::string> Seeds(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("found-")) continue;
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return seeds;
}

struct LoadCase {
  const char* folder;
  Reached (*load)(std::string bytes);
};
constexpr LoadCase kLoads[] = {
    {"cache/package/testdata/package_fuzz", LoadHostilePackage},
    {"cache/store/testdata/entry_fuzz", LoadHostileEntry},
};

TEST(ContainerMutator, WhatIsTakenApartIsPutTogether) {
  for (const LoadCase& load : kLoads) {
    for (const std::string& seed : Seeds(load.folder)) {
      const auto parts = TakeApart(seed);
      ASSERT_TRUE(parts.has_value());
      const auto again = TakeApart(PutTogether(*parts));
      ASSERT_TRUE(again.has_value());
      ASSERT_EQ(again->sections.size(), parts->sections.size());
      for (size_t i = 0; i < parts->sections.size(); ++i) {
        const ContainerParts::Part& part = parts->sections[i];
        EXPECT_EQ(again->sections[i].bytes, part.bytes);
        const PayloadTokens tokens = ReadTokens(part.type, part.bytes);
        if (tokens.empty()) continue;
        EXPECT_EQ(WriteTokens(tokens), part.bytes) << Name(part.type);
      }
    }
  }
  EXPECT_FALSE(TakeApart("no container").has_value());
}

TEST(ContainerMutator, ChecksumsAreMadeRight) {
  std::string bytes = Seeds(kLoads[0].folder).at(0);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_FALSE((*Container::FromBytes(bytes))->VerifyAll().ok());
  const auto container = Container::FromBytes(WithRightChecksums(bytes));
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_TRUE((*container)->VerifyAll().ok());
  EXPECT_EQ(WithRightChecksums("short"), "short");
}

TEST(ContainerMutator, MutantsReachEveryStage) {
  for (const LoadCase& load : kLoads) {
    std::array<int, 5> reached = {};
    std::mt19937 random(1), same(1);
    for (const std::string& seed : Seeds(load.folder)) {
      for (int i = 0; i < kMutants; ++i) {
        const std::string mutant = MutateContainer(seed, kMostBytes, random);
        ASSERT_EQ(MutateContainer(seed, kMostBytes, same), mutant);
        ++reached[static_cast<size_t>(load.load(mutant))];
      }
    }
    for (const Reached stage :
         {Reached::kNothing, Reached::kContainer, Reached::kContents}) {
      EXPECT_GT(reached[static_cast<size_t>(stage)], 5) << load.folder;
    }
    EXPECT_GT(reached[static_cast<size_t>(Reached::kRun)], 50) << load.folder;
  }
}

// Code of a backend that is no interpreter is not run, whatever is there.
TEST(ContainerMutator, SeedsRunWhereTheyMay) {
  for (const LoadCase& load : kLoads) {
    int run = 0, kept = 0;
    for (const std::string& seed : Seeds(load.folder)) {
      const Reached reached = load.load(seed);
      run += reached == Reached::kRun;
      kept += reached != Reached::kRun;
    }
    EXPECT_GT(run, 8) << load.folder;
    EXPECT_GT(kept, 0) << load.folder;
  }
}

}  // namespace
}  // namespace encore::cache
