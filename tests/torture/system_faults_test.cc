// Each call of the system that a model's way through files makes fails in turn,
// in each way that it can: once, or from then on. Whatever fails, outputs are
// right or an error says which file it was; the next run is as if nothing had
// been, and the one after it finds all that it kept. Nothing is left behind.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "encore/backends/cpu/elf/library_file.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/testing/faulty_system.h"
#include "encore/tests/torture/environment.h"
#include "encore/tests/torture/fault_trials.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

class SystemFaults : public testing::Test {
 protected:
  void TearDown() override { PrintFaults(); }

  // A state of the store: what was run before, and what was done to it.
  void Prepare(const std::function<void()>& change) {
    scenario_.Reset();
    ASSERT_TRUE(scenario_.Run().ok());
    change();
    fs::remove_all(folder_ + "/state");
    fs::copy(folder_ + "/work", folder_ + "/state",
             fs::copy_options::recursive);
  }
  void Restore() {
    fs::remove_all(folder_ + "/work");
    fs::copy(folder_ + "/state", folder_ + "/work",
             fs::copy_options::recursive);
  }
  // Of each call of a run that begins with the state that was prepared.
  std::string EveryFault(bool lasting) {
    return RunTrials({.restore = [&] { Restore(); },
                      .run = [&] { return scenario_.RunWithFault(); },
                      .heal = [&] { return scenario_.Heal(); },
                      .lasting = lasting});
  }

  const std::string folder_ = testing::TempDir() + "system_faults";
  Scenario scenario_{folder_ + "/work", "ref"};
};

// As `encore run` works: entries are written by a thread beside, so that calls
// fail there, and in another order each time.
class SystemFaultsBehind : public SystemFaults {
 protected:
  void SetUp() override { scenario_.set_write_behind(true); }
};

TEST_F(SystemFaultsBehind, OfAColdStart) {
  Prepare([&] { scenario_.Reset(); });
  EXPECT_EQ(EveryFault(false), "");
}

TEST_F(SystemFaultsBehind, OfAColdStartFromThenOn) {
  Prepare([&] { scenario_.Reset(); });
  EXPECT_EQ(EveryFault(true), "");
}

TEST_F(SystemFaultsBehind, OfAWarmStartFromThenOn) {
  Prepare([] {});
  EXPECT_EQ(EveryFault(true), "");
}

TEST_F(SystemFaults, OfAColdStart) {
  Prepare([&] { scenario_.Reset(); });
  EXPECT_EQ(EveryFault(false), "");
}

TEST_F(SystemFaults, OfAColdStartFromThenOn) {
  Prepare([&] { scenario_.Reset(); });
  EXPECT_EQ(EveryFault(true), "");
}

TEST_F(SystemFaults, OfAWarmStart) {
  Prepare([] {});
  EXPECT_EQ(EveryFault(false), "");
}

TEST_F(SystemFaults, OfAWarmStartFromThenOn) {
  Prepare([] {});
  EXPECT_EQ(EveryFault(true), "");
}

// Each fault of each kind of call, all through a cold start, a warm one, one
// whose entries were used long ago, and what looks after a store: each comes.
class EveryFault : public testing::TestWithParam<SystemCall> {
 protected:
  // Makes the entries older than what is written down of their use.
  void Age() const {
    for (const auto& entry :
         fs::recursive_directory_iterator(scenario_.store())) {
      if (entry.is_regular_file()) {
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() -
                                              std::chrono::minutes(5));
      }
    }
  }
  void LookAfterStore() const {
    const auto store = cache::DiskStore::Open(
        {.folder = scenario_.store(), .log = [](auto) {}});
    if (!store.ok()) return;
    for (const auto& entry : (*store)->List()) {
      (void)(*store)->Contains(entry.kind, entry.key);
    }
    (void)(*store)->Collect(1);
    (void)(*store)->Clear();
  }
  // All of it, with what was asked to fail; nothing may be wrong.
  void RunAll() const {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(scenario_.RunWithFault(), "");
      if (fs::exists(scenario_.store())) Age();
    }
    EXPECT_FALSE(backends::cpu::ReadLibraryFile("/proc/self/exe").id.empty());
    LookAfterStore();
  }

  const Scenario scenario_{testing::TempDir() + "every_fault", "cpu"};
};

TEST_P(EveryFault, Comes) {
  for (const int fault : FaultsOf(GetParam())) {
    scenario_.Reset();
    FaultySystem system;
    // Uses are written down by their time where nothing else can be written.
    const bool on_a_full_disk = GetParam() == SystemCall::kUTimeNsAt;
    if (on_a_full_disk) {
      (void)scenario_.Run();
      Age();
    }
    {
      const ScopedSystemCalls scope(&system);
      system.FailAll(GetParam(), fault);
      if (on_a_full_disk) system.FailAll(SystemCall::kWrite, ENOSPC);
      RunAll();
    }
    ASSERT_TRUE(system.counts().contains({GetParam(), fault}))
        << Name(GetParam()) << " never said " << FaultName(fault);
    std::cout << "fault " << Name(GetParam()) << " " << FaultName(fault) << " "
              << system.counts().at({GetParam(), fault}) << "\n";
    EXPECT_EQ(scenario_.Heal(), "") << FaultName(fault);
  }
}

std::vector<SystemCall> AllCalls() {
  std::vector<SystemCall> calls;
  for (int i = 0; i < kSystemCallCount; ++i) {
    calls.push_back(static_cast<SystemCall>(i));
  }
  return calls;
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryFault, testing::ValuesIn(AllCalls()),
                         [](const auto& info) {
                           return std::string(Name(info.param));
                         });

// A lock that everybody is told he has, and clocks that are wrong.
class Lies : public SystemFaults {
 protected:
  void Run() const {
    const Scenario::Outcome outcome = scenario_.Run();
    EXPECT_TRUE(outcome.ok()) << ToText(outcome);
  }
  // Collects until so many bytes are left.
  void Collect(uint64_t max_bytes) const {
    const auto store = cache::DiskStore::Open(
        {.folder = scenario_.store(), .log = [](auto) {}});
    ASSERT_TRUE(store.ok()) << store.status();
    uint64_t before = 0, after = 0;
    for (const auto& entry : (*store)->List()) before += entry.bytes;
    const int removed = (*store)->Collect(max_bytes);
    for (const auto& entry : (*store)->List()) after += entry.bytes;
    EXPECT_LE(after, max_bytes);
    EXPECT_EQ(removed > 0, before > max_bytes);
  }
  void Tell(const std::function<void(FaultySystem*)>& lie) {
    scenario_.Reset();
    for (int i = 0; i < 3; ++i) {
      FaultySystem system;
      const ScopedSystemCalls scope(&system);
      lie(&system);
      Run();
    }
    EXPECT_EQ(scenario_.Heal(), "");
    // What is kept goes while the lie is told.
    for (const uint64_t max_bytes : {uint64_t{8192}, uint64_t{0}}) {
      FaultySystem system;
      const ScopedSystemCalls scope(&system);
      lie(&system);
      Run();
      Collect(max_bytes);
      Run();
    }
    EXPECT_EQ(scenario_.Heal(), "");
  }
};

// A clock that jumps each time that it is asked, by up to a year.
class JumpingClock final : public WatchedSystem {
 public:
  explicit JumpingClock(uint64_t seed) : random_(seed) {}

  int times() const { return times_; }

  int ClockGetTime(clockid_t clock, struct timespec* time) override {
    const int result = SystemCalls::ClockGetTime(clock, time);
    const std::lock_guard lock(mutex_);
    constexpr int64_t kYear = int64_t{365} * 24 * 3600;
    time->tv_sec += static_cast<int64_t>(random_() % (2 * kYear)) - kYear;
    ++times_;
    return result;
  }

 private:
  int Before(SystemCall) override { return 0; }

  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<int> times_ = 0;
};

TEST_F(Lies, OfAClockThatJumps) {
  JumpingClock system(Seed());
  scenario_.Reset();
  {
    const ScopedSystemCalls scope(&system);
    for (int i = 0; i < 5; ++i) {
      Run();
      Collect(i < 3 ? uint64_t{1} << 30 : 8192);
    }
  }
  EXPECT_GT(system.times(), 10);
  EXPECT_EQ(scenario_.Heal(), "");
}

TEST_F(Lies, OfFilesWhoseTimesAreOfWholeSeconds) {
  Tell([](FaultySystem* system) { system->set_file_tick_ns(1'000'000'000); });
}

TEST_F(Lies, OfLocks) {
  Tell([](FaultySystem* system) { system->set_locks_lie(true); });
}

TEST_F(Lies, OfClocks) {
  constexpr int64_t kYearNs = int64_t{365} * 24 * 3600 * 1'000'000'000;
  for (const int64_t offset : {-50 * kYearNs, -kYearNs, -kYearNs / 8760,
                               kYearNs / 8760, kYearNs, 100 * kYearNs}) {
    Tell([&](FaultySystem* system) { system->set_clock_offset_ns(offset); });
  }
}

}  // namespace
}  // namespace encore::torture
