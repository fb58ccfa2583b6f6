// What a process holds does not grow with what it loads: descriptors, mappings,
// threads, address space and memory after 10,000 loads are those after the
// first 1,000, of models with their weights and of packages, interpreted and
// with code that is mapped. A leak of 16 bytes a load would be seen.
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <tuple>

#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#endif

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

constexpr int kFirst = 1000, kAll = 10'000;
// Of what is allocated: half of what 16 bytes a load would be.
constexpr int64_t kMostAllocated = int64_t{8} * (kAll - kFirst);
// Of pages, which allocators take in larger parts and may not give back. A
// mapping that is left by each load takes 35 MiB.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// What was freed is kept for a while.
constexpr int64_t kMostResident = int64_t{1} << 30,
                  kMostMapped = int64_t{1} << 40;
#else
constexpr int64_t kMostResident = int64_t{2} << 20,
                  kMostMapped = int64_t{4} << 20;
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

// What is allocated and not freed.
int64_t AllocatedBytes() {
#if __has_feature(address_sanitizer)
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#elif __has_feature(thread_sanitizer)
  return 0;  // its allocator does not say
#else
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
#endif
}

struct Holdings {
  int64_t descriptors = EntriesOf("/proc/self/fd");
  int64_t threads = EntriesOf("/proc/self/task");
  int64_t mappings = Mappings();
  int64_t allocated = AllocatedBytes();
  int64_t mapped = 0, resident = 0;

  Holdings() {
    std::ifstream file("/proc/self/statm");
    file >> mapped >> resident;
    mapped *= sysconf(_SC_PAGESIZE);
    resident *= sysconf(_SC_PAGESIZE);
  }
};

// The target, and whether it is the package that is loaded.
class Flat : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(Flat, OverTenThousandLoads) {
  const auto [target, is_package] = GetParam();
  const Scenario scenario(testing::TempDir() + "flat", target);
  scenario.Reset();
  ASSERT_TRUE(scenario.Run().ok());
  const auto load = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const Scenario::Outcome outcome =
          is_package ? scenario.LoadPackage() : scenario.Load();
      ASSERT_TRUE(outcome.ok()) << ToText(outcome);
    }
  };
  load(kFirst);
  const Holdings before;
  load(kAll - kFirst);
  const Holdings after;
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  // The allocator may take a few more.
  EXPECT_LE(after.mappings, before.mappings + 8);
  EXPECT_LE(after.allocated, before.allocated + kMostAllocated);
  EXPECT_LE(after.resident, before.resident + kMostResident);
  EXPECT_LE(after.mapped, before.mapped + kMostMapped);
  std::cout << kAll << " loads: " << after.descriptors << " descriptors, "
            << after.mappings << " mappings, " << after.threads
            << " threads; more than after " << kFirst << ": "
            << after.mappings - before.mappings << " mappings, "
            << after.allocated - before.allocated << " bytes allocated, "
            << after.resident - before.resident << " resident, "
            << after.mapped - before.mapped << " mapped\n";
}

INSTANTIATE_TEST_SUITE_P(Targets, Flat,
                         testing::Combine(testing::Values("ref", "cpu"),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Package"
                                                           : "Model");
                         });

}  // namespace
}  // namespace encore::torture
