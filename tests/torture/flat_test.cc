// What a process holds does not grow with what it loads: descriptors, mappings,
// threads and memory after 10,000 loads are those after the first 1,000.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

// AddressSanitizer keeps what was freed.
#if __has_feature(address_sanitizer)
constexpr int64_t kMostGrowth = int64_t{1} << 30;
#else
constexpr int64_t kMostGrowth = int64_t{4} << 20;
#endif

int64_t EntriesOf(const char* folder) {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) {
    ++count;
  }
  return count;
}

int64_t Mappings() {
  std::ifstream file("/proc/self/maps");
  int64_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Flat, OverTenThousandLoads) {
  constexpr int kFirst = 1000, kAll = 10'000;
  const Scenario scenario(testing::TempDir() + "flat", "ref");
  scenario.Reset();
  int64_t descriptors = 0, mappings = 0, threads = 0, bytes = 0;
  for (int i = 0; i < kAll; ++i) {
    const Scenario::Outcome outcome = scenario.Load();
    ASSERT_TRUE(outcome.ok()) << outcome.import << outcome.load;
    if (i + 1 != kFirst) continue;
    descriptors = EntriesOf("/proc/self/fd");
    mappings = Mappings();
    threads = EntriesOf("/proc/self/task");
    bytes = ResidentBytes();
  }
  EXPECT_EQ(EntriesOf("/proc/self/fd"), descriptors);
  EXPECT_EQ(EntriesOf("/proc/self/task"), threads);
  // The allocator may take a few more.
  EXPECT_LE(Mappings(), mappings + 8);
  EXPECT_LE(ResidentBytes(), bytes + kMostGrowth);
  std::cout << descriptors << " descriptors, " << mappings << " mappings, "
            << threads << " threads, " << bytes << " bytes; "
            << ResidentBytes() - bytes << " bytes more at the end\n";
}

}  // namespace
}  // namespace encore::torture
