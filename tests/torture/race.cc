#include "encore/tests/torture/race.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"

namespace encore::torture {
namespace {

// What all processes see.
struct Shared {
  std::atomic<int> begun = 0, done = 0;
  std::atomic<int64_t> runs = 0, unchanged = 0, refused = 0, wrong = 0;
};

Shared* MapShared() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ENCORE_CHECK(memory != MAP_FAILED);
  return new (memory) Shared;
}

// Whether a run's error may be, which met the changes after `first` up to
// `last`.
bool MayRefuse(const Race& race, const Status& status, int first, int last) {
  if (race.in_place) return last > first;
  return status.code() == StatusCode::kFailedPrecondition && last >= first + 3;
}

// Runs once and judges it; what is wrong, or empty.
std::string ReadAndJudge(const Race& race, Shared& shared) {
  const int first = shared.done;
  const StatusOr<int64_t> state = race.read();
  const int last = shared.begun;
  ++shared.runs;
  shared.unchanged += first == last;
  if (!state.ok()) {
    ++shared.refused;
    if (MayRefuse(race, state.status(), first, last)) return "";
    return StrCat(state.status(), " between changes ", first, " and ", last);
  }
  if (race.in_place && last > first) return "";
  const auto may = race.states.subspan(first, last - first + 1);
  if (std::ranges::find(may, *state) != may.end()) return "";
  return StrCat("gave ", *state, " between changes ", first, " and ", last,
                ", expected one of ", StrJoin(may, " "));
}

void ReadUntilDone(const Race& race, Shared& shared) {
  const int all = static_cast<int>(race.states.size()) - 1;
  while (shared.done < all) {
    const std::string wrong = ReadAndJudge(race, shared);
    if (wrong.empty()) continue;
    ++shared.wrong;
    std::cerr << "reader " << getpid() << ": " << wrong << "\n";
  }
}

// A moment, or, one time in four, until as many runs as there are readers may
// have begun and ended.
void Pause(const Race& race, const Shared& shared, std::mt19937_64& random) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(5);
  const int64_t runs = shared.runs + 2 * race.readers;
  const auto moment = std::chrono::milliseconds(random() % 20);
  const bool waits = random() % 4 == 0;
  do {
    std::this_thread::sleep_for(moment);
  } while (waits && shared.runs < runs && Clock::now() < end);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RaceResult& result) {
  return out << result.runs << " runs, " << result.unchanged
             << " of them beside no change, " << result.refused << " refused, "
             << result.wrong << " wrong, " << result.died << " readers died";
}

RaceResult RunRace(const Race& race) {
  Shared& shared = *MapShared();
  std::vector<pid_t> readers;
  for (int i = 0; i < race.readers; ++i) {
    readers.push_back(StartChild([&] {
      ReadUntilDone(race, shared);
      return 0;
    }));
  }
  std::mt19937_64 random(race.seed);
  const int all = static_cast<int>(race.states.size()) - 1;
  for (int number = 1; number <= all; ++number) {
    shared.begun = number;
    race.change(number);
    shared.done = number;
    Pause(race, shared, random);
  }
  RaceResult result;
  for (const pid_t reader : readers) {
    const int status = WaitForChild(reader);
    result.died += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  result.runs = shared.runs;
  result.unchanged = shared.unchanged;
  result.refused = shared.refused;
  result.wrong = shared.wrong;
  munmap(&shared, sizeof(Shared));
  return result;
}

}  // namespace encore::torture
