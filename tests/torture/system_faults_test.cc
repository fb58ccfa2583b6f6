// Each call of the system that a model's way through files makes fails in turn,
// in each way that it can: once, or from then on. Whatever fails, outputs are
// right or an error says which file it was; the next run is as if nothing had
// been, and the one after it finds all that it kept. Nothing is left behind.
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "encore/backends/cpu/elf/library_file.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/faulty_system.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

int64_t OpenDescriptors() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class SystemFaults : public testing::Test {
 protected:
  SystemFaults() : scenario_(folder_ + "/work", "ref") {}

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

  void EveryFaultOf(bool lasting);
  void Try(uint64_t number, size_t which, bool lasting);
  void ExpectHealed(const std::string& what);

  const std::string folder_ = testing::TempDir() + "system_faults";
  const Scenario scenario_;
  int trials_ = 0, fired_ = 0;
  static FaultySystem system_;
};

FaultySystem SystemFaults::system_;

void SystemFaults::ExpectHealed(const std::string& what) {
  const Scenario::Outcome healed = scenario_.Run();
  EXPECT_TRUE(healed.ok()) << what << ": then " << healed.import << " "
                           << healed.load << " " << healed.package;
  const Scenario::Outcome recalled = scenario_.Run();
  EXPECT_TRUE(recalled.ok()) << what;
  EXPECT_EQ(recalled.statistics.misses, 0) << what;
  EXPECT_EQ(recalled.statistics.weights_prepared, 0) << what;
  EXPECT_TRUE(recalled.log.empty())
      << what << ": " << (recalled.log.empty() ? "" : recalled.log[0]);
}

void SystemFaults::Try(uint64_t number, size_t which, bool lasting) {
  Restore();
  const int64_t before = OpenDescriptors();
  Scenario::Outcome outcome;
  {
    const ScopedSystemCalls scope(&system_);
    system_.FailCall(number, which, lasting);
    outcome = scenario_.Run();
  }
  const std::vector<SystemCall> calls = system_.calls();
  ++trials_;
  if (!system_.fired()) return;
  ++fired_;
  const SystemCall call = calls[number];
  const std::string what =
      StrCat("call ", number, ", ", Name(call), ": ",
             FaultName(FaultsOf(call)[which]), lasting ? " from then on" : "");
  EXPECT_FALSE(outcome.is_wrong) << what;
  // A store that cannot be read or written never is an error.
  EXPECT_TRUE(outcome.load.ok()) << what << ": " << outcome.load;
  for (const Status* status : {&outcome.import, &outcome.package}) {
    if (status->ok()) continue;
    EXPECT_NE(Message(*status).find(folder_), std::string::npos)
        << what << ": " << *status;
  }
  EXPECT_EQ(OpenDescriptors(), before) << what;
  ExpectHealed(what);
  const auto left = scenario_.Leftovers();
  EXPECT_TRUE(left.empty()) << what << ": left " << left[0];
}

void SystemFaults::EveryFaultOf(bool lasting) {
  Restore();
  std::vector<SystemCall> calls;
  {
    const ScopedSystemCalls scope(&system_);
    system_.FailCall(UINT64_MAX, 0);
    (void)scenario_.Run();
    calls = system_.calls();
  }
  for (size_t k = 0; k < calls.size() && !HasFailure(); ++k) {
    for (size_t which = 0; which < FaultsOf(calls[k]).size(); ++which) {
      Try(k, which, lasting);
    }
  }
  std::cout << calls.size() << " calls, " << trials_ << " trials, " << fired_
            << " faults\n";
}

TEST_F(SystemFaults, OfAColdStart) {
  Prepare([&] { scenario_.Reset(); });
  EveryFaultOf(false);
}

TEST_F(SystemFaults, OfAColdStartFromThenOn) {
  Prepare([&] { scenario_.Reset(); });
  EveryFaultOf(true);
}

TEST_F(SystemFaults, OfAWarmStart) {
  Prepare([] {});
  EveryFaultOf(false);
}

TEST_F(SystemFaults, OfAWarmStartFromThenOn) {
  Prepare([] {});
  EveryFaultOf(true);
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
      const Scenario::Outcome outcome = scenario_.Run();
      EXPECT_FALSE(outcome.is_wrong);
      if (fs::exists(scenario_.store())) Age();
    }
    (void)backends::cpu::ReadLibraryFile("/proc/self/exe");
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
    EXPECT_TRUE(system.counts().contains({GetParam(), fault}))
        << Name(GetParam()) << " never said " << FaultName(fault);
    const Scenario::Outcome healed = scenario_.Run();
    EXPECT_TRUE(healed.ok()) << FaultName(fault) << ": " << healed.import
                             << healed.load << healed.package;
    const Scenario::Outcome recalled = scenario_.Run();
    EXPECT_TRUE(recalled.ok()) << FaultName(fault);
    EXPECT_EQ(recalled.statistics.misses, 0) << FaultName(fault);
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
  void Tell(const std::function<void(FaultySystem*)>& lie) {
    scenario_.Reset();
    for (int i = 0; i < 3; ++i) {
      FaultySystem system;
      const ScopedSystemCalls scope(&system);
      lie(&system);
      const Scenario::Outcome outcome = scenario_.Run();
      EXPECT_TRUE(outcome.ok())
          << outcome.import << outcome.load << outcome.package;
    }
    ExpectHealed("after lies");
  }
};

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
