#include "encore/tests/torture/fault_trials.h"

#include <cstddef>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/faulty_system.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

// Of the process: a thread may be in one of its calls when a trial ends.
FaultySystem& System() {
  static FaultySystem* const system = new FaultySystem;
  return *system;
}

int64_t OpenDescriptors() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// The calls that a run without faults makes; not the first one, which makes
// those as well that a process makes once.
std::vector<SystemCall> CallsOf(const FaultTrials& trials) {
  FaultySystem& system = System();
  for (int i = 0; i < 2; ++i) {
    trials.restore();
    const ScopedSystemCalls scope(&system);
    system.FailCall(UINT64_MAX, 0);
    (void)trials.run();
  }
  return system.calls();
}

// A kind of call, and which of its faults.
using Fault = std::pair<SystemCall, size_t>;

// How often a fault that did not come yet is tried at another call of its kind.
constexpr int kMostTries = 20;

// How often each fault came.
using Fired = std::map<Fault, int>;

// Another run may make other calls: nothing where the one to fail never came.
std::string TryOne(const FaultTrials& trials, uint64_t number, size_t which,
                   Fired* fired) {
  trials.restore();
  const int64_t before = OpenDescriptors();
  FaultySystem& system = System();
  std::string wrong;
  {
    const ScopedSystemCalls scope(&system);
    system.FailCall(number, which, trials.lasting);
    wrong = trials.run();
  }
  if (!system.fired()) return wrong;
  const SystemCall call = system.calls()[number];
  ++(*fired)[{call, which}];
  if (wrong.empty() && OpenDescriptors() != before) {
    wrong = "a descriptor stayed open";
  }
  if (wrong.empty()) wrong = trials.heal();
  if (wrong.empty()) return wrong;
  return StrCat("call ", number, ", ", Name(call), ": ",
                FaultName(FaultsOf(call)[which]),
                trials.lasting ? " from then on" : "", ": ", wrong);
}

// Tries each fault that has not come, of the kinds of calls that there are, at
// calls that `random` draws until it comes.
std::string TryTheRest(
    const FaultTrials& trials,
    const std::map<SystemCall, std::vector<uint64_t>>& numbers,
    std::mt19937_64& random, Fired* fired) {
  int count = 0;
  for (const auto& [call, of_kind] : numbers) {
    const std::vector<int> faults = FaultsOf(call);
    for (size_t which = 0; which < faults.size(); ++which) {
      for (int i = 0; i < kMostTries && !fired->contains({call, which}); ++i) {
        const uint64_t number = of_kind[random() % of_kind.size()];
        const std::string wrong = TryOne(trials, number, which, fired);
        if (!wrong.empty()) return wrong;
        ++count;
      }
      if (!fired->contains({call, which})) {
        return StrCat(Name(call), ": ", FaultName(faults[which]),
                      " did not come in ", kMostTries, " trials");
      }
    }
  }
  std::cout << count << " trials of faults that the draw left out\n";
  return "";
}

}  // namespace

std::string RunTrials(const FaultTrials& trials) {
  const std::vector<SystemCall> calls = CallsOf(trials);
  std::mt19937_64 random(trials.seed);
  std::map<SystemCall, std::vector<uint64_t>> numbers;
  int tried = 0, count = 0;
  Fired fired;
  std::string wrong;
  for (size_t k = 0; k < calls.size() && wrong.empty(); ++k) {
    numbers[calls[k]].push_back(k);
    if (random() % trials.one_in != 0) continue;
    ++tried;
    for (size_t which = 0; which < FaultsOf(calls[k]).size() && wrong.empty();
         ++which) {
      wrong = TryOne(trials, k, which, &fired);
      ++count;
    }
  }
  int times = 0;
  for (const auto& [fault, amount] : fired) times += amount;
  std::cout << calls.size() << " calls, " << tried << " of them tried, "
            << count << " trials, " << times << " faults\n";
  if (wrong.empty()) wrong = TryTheRest(trials, numbers, random, &fired);
  if (wrong.empty() && fired.empty()) return "no fault came";
  return wrong;
}

void PrintFaults() {
  static std::map<std::pair<SystemCall, int>, uint64_t> printed;
  const auto& counts = System().counts();
  for (const auto& [fault, times] : counts) {
    if (times == printed[fault]) continue;
    std::cout << "fault " << Name(fault.first) << " " << FaultName(fault.second)
              << " " << times - printed[fault] << "\n";
  }
  printed = counts;
}

}  // namespace encore::torture
