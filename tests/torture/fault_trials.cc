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

// The calls that a run without faults makes.
std::vector<SystemCall> CallsOf(const FaultTrials& trials) {
  trials.restore();
  FaultySystem& system = System();
  const ScopedSystemCalls scope(&system);
  system.FailCall(UINT64_MAX, 0);
  (void)trials.run();
  return system.calls();
}

// Another run may make other calls: nothing where the one to fail never came.
std::string TryOne(const FaultTrials& trials, uint64_t number, size_t which,
                   int* fired) {
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
  ++*fired;
  if (wrong.empty() && OpenDescriptors() != before) {
    wrong = "a descriptor stayed open";
  }
  if (wrong.empty()) wrong = trials.heal();
  if (wrong.empty()) return wrong;
  const SystemCall call = system.calls()[number];
  return StrCat("call ", number, ", ", Name(call), ": ",
                FaultName(FaultsOf(call)[which]),
                trials.lasting ? " from then on" : "", ": ", wrong);
}

}  // namespace

std::string RunTrials(const FaultTrials& trials) {
  const std::vector<SystemCall> calls = CallsOf(trials);
  std::mt19937_64 random(trials.seed);
  int tried = 0, count = 0, fired = 0;
  std::string wrong;
  for (size_t k = 0; k < calls.size() && wrong.empty(); ++k) {
    if (random() % trials.one_in != 0) continue;
    ++tried;
    for (size_t which = 0; which < FaultsOf(calls[k]).size() && wrong.empty();
         ++which) {
      wrong = TryOne(trials, k, which, &fired);
      ++count;
    }
  }
  std::cout << calls.size() << " calls, " << tried << " of them tried, "
            << count << " trials, " << fired << " faults\n";
  if (wrong.empty() && fired == 0) return "no fault came";
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
