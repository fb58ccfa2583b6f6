// A process is killed (SIGKILL) before each of its calls of the system in turn,
// cold and warm, also where every process has the same number. The next one is
// right, and the one after it finds all that it kept; nothing is left behind.
// Then eight at once in one store, killed at random: 30 rounds, or as many as
// ENCORE_TORTURE_ROUNDS says.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/faulty_system.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

// Exit codes of processes that were not killed.
constexpr int kRight = 0, kWrong = 1, kFailed = 2, kRefused = 3, kKilled = 4;

class KillingSystem final : public WatchedSystem {
 public:
  explicit KillingSystem(uint64_t number) : left_(number) {}

 private:
  int Before(SystemCall) override {
    if (left_.fetch_sub(1) == 0) raise(SIGKILL);
    return 0;
  }

  std::atomic<uint64_t> left_;
};

// Runs once, killed at call `number`. No part of this process is used, which
// may have threads.
[[noreturn]] void RunAndExit(const std::string& folder,
                             const std::string& package, uint64_t number) {
  Scenario scenario(folder, "ref");
  scenario.set_package(package);
  KillingSystem system(number);
  const ScopedSystemCalls scope(&system);
  const Scenario::Outcome outcome = scenario.Run();
  _exit(outcome.is_wrong ? kWrong : outcome.ok() ? kRight : kFailed);
}

int Wait(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class Deaths : public testing::Test {
 protected:
  // `start` starts a process as RunAndExit has it and gives its wait status.
  void KillAtEachCall(bool is_warm,
                      const std::function<int(uint64_t number)>& start);
  void ExpectHealed(const std::string& what);

  const std::string folder_ = testing::TempDir() + "deaths";
  const Scenario scenario_{folder_, "ref"};
};

void Deaths::ExpectHealed(const std::string& what) {
  const Scenario::Outcome healed = scenario_.Run();
  EXPECT_TRUE(healed.ok()) << what << ": " << healed.import << " "
                           << healed.load << " " << healed.package;
  const Scenario::Outcome recalled = scenario_.Run();
  EXPECT_TRUE(recalled.ok()) << what;
  EXPECT_EQ(recalled.statistics.misses, 0) << what;
  EXPECT_TRUE(recalled.log.empty()) << what;
  const auto left = scenario_.Leftovers();
  EXPECT_TRUE(left.empty()) << what << ": left " << left[0];
}

void Deaths::KillAtEachCall(bool is_warm,
                            const std::function<int(uint64_t)>& start) {
  uint64_t number = 0;
  for (; !HasFailure(); ++number) {
    scenario_.Reset();
    if (is_warm) {
      ASSERT_TRUE(scenario_.Run().ok());
    }
    const int status = start(number);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), kRight);
      break;
    }
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    ExpectHealed(StrCat("killed at call ", number));
  }
  std::cout << number << " deaths\n";
}

int Start(const std::string& folder, uint64_t number) {
  const pid_t child = fork();
  if (child == 0) RunAndExit(folder, "m.encore", number);
  return Wait(child);
}

// By the first process of a namespace: starts the second one.
int StartSecond(const std::string& folder, uint64_t number) {
  if (getpid() != 1) return kRefused;
  const pid_t child = fork();
  if (child == 0) RunAndExit(folder, "m.encore", number);
  if (child != 2) return kRefused;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? kKilled : WEXITSTATUS(status);
}

TEST_F(Deaths, AtEachCallOfAColdStart) {
  KillAtEachCall(false, [&](uint64_t k) { return Start(folder_, k); });
}

TEST_F(Deaths, AtEachCallOfAWarmStart) {
  KillAtEachCall(true, [&](uint64_t k) { return Start(folder_, k); });
}

// In a namespace of its own each process is number 2; number 1 cannot be
// killed from within.
TEST_F(Deaths, UnderTheSameNumber) {
  const auto start = [&](uint64_t number) {
    const pid_t child = fork();
    if (child == 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(kRefused);
      if (fork() == 0) _exit(StartSecond(folder_, number));
      int status = 0;
      wait(&status);
      if (WEXITSTATUS(status) == kKilled) raise(SIGKILL);
      _exit(WEXITSTATUS(status));
    }
    return Wait(child);
  };
  scenario_.Reset();
  const int status = start(UINT64_MAX);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) {
    GTEST_SKIP() << "the system refuses namespaces of processes (unshare)";
  }
  KillAtEachCall(false, start);
}

TEST_F(Deaths, OfEightAtOnce) {
  constexpr int kProcesses = 8;
  const char* const given = std::getenv("ENCORE_TORTURE_ROUNDS");
  const int rounds = given == nullptr ? 30 : std::atoi(given);
  scenario_.Reset();
  const uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  int killed = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    if (round % 5 == 0) fs::remove_all(scenario_.store());
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const uint64_t number = random() % 400;
      const pid_t child = fork();
      if (child == 0) RunAndExit(folder_, StrCat("m", i, ".encore"), number);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      const int status = Wait(child);
      killed += WIFSIGNALED(status);
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), kRight);
      } else {
        EXPECT_EQ(WTERMSIG(status), SIGKILL);
      }
    }
  }
  EXPECT_GT(killed, 0);
  std::cout << rounds * kProcesses << " processes, " << killed << " killed\n";
  // Packages of processes that nobody starts again stay staged.
  for (int i = 0; i < kProcesses; ++i) {
    Scenario again(folder_, "ref");
    again.set_package(StrCat("m", i, ".encore"));
    EXPECT_TRUE(again.Run().ok());
  }
  ExpectHealed("eight at once");
}

}  // namespace
}  // namespace encore::torture
