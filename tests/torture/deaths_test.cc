// A process is killed (SIGKILL) before each of its calls of the system in turn,
// or, where it generates code, before one in so many, cold and warm, also where
// every process has the same number, the one that comes after it too. The next
// one is right, and the one after it finds all that it kept; nothing is left
// behind. Then eight at once in one store, killed at random: 30 rounds, or as
// many as ENCORE_TORTURE_ROUNDS says.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"
#include "encore/ir/testing/faulty_system.h"
#include "encore/tests/torture/environment.h"
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

// Runs once, killed at call `number`; the exit code. No part of the process
// that was forked is used, which may have threads.
int RunUntilKilled(const std::string& folder, const Sample& sample,
                   const std::string& package, uint64_t number) {
  Scenario scenario(folder, sample.target);
  scenario.set_write_behind(sample.write_behind);
  scenario.set_package(package);
  KillingSystem system(number);
  const ScopedSystemCalls scope(&system);
  const Scenario::Outcome outcome = scenario.Run();
  return outcome.is_wrong ? kWrong : outcome.ok() ? kRight : kFailed;
}

// Runs as the one that comes after a death; the exit code.
int Heal(const std::string& folder, const std::string& target) {
  const std::string wrong = Scenario(folder, target).Heal();
  if (wrong.empty()) return kRight;
  std::cerr << "process " << getpid() << ": " << wrong << "\n";
  return kWrong;
}

bool Exited(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

// Runs `body` in a process and gives its wait status.
using Body = std::function<int()>;
using Start = int (*)(const Body& body);

int StartOne(const Body& body) { return WaitForChild(StartChild(body)); }

// By the first process of a namespace: starts the second one, and gives its
// exit code.
int RunSecond(const Body& body) {
  if (getpid() != 1) return kRefused;
  const int status =
      StartOne([&] { return getpid() == 2 ? body() : kRefused; });
  return WIFSIGNALED(status) ? kKilled : WEXITSTATUS(status);
}

// As StartOne, in a namespace of its own, where each such process is number 2:
// number 1 cannot be killed from within. kRefused where the system has none.
int StartTheSecond(const Body& body) {
  return StartOne([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return kRefused;
    const int status = StartOne([&] { return RunSecond(body); });
    if (Exited(status, kKilled)) raise(SIGKILL);
    return WEXITSTATUS(status);
  });
}

class Deaths : public testing::TestWithParam<Sample> {
 protected:
  // All processes, those that come after a death as well, are started so.
  void KillAtEachCall(bool is_warm, Start start);

  const std::string folder_ = testing::TempDir() + "deaths";
  const std::string target_ = GetParam().target;
  const Scenario scenario_{folder_, target_};
};

void Deaths::KillAtEachCall(bool is_warm, Start start) {
  if (Exited(start([] { return kRight; }), kRefused)) {
    GTEST_SKIP() << "the system refuses namespaces of processes (unshare)";
  }
  const Body heal = [&] { return Heal(folder_, target_); };
  const uint64_t one_in = GetParam().one_in;
  uint64_t number = FirstOf(GetParam());
  for (;; number += one_in) {
    scenario_.Reset();
    if (is_warm) {
      ASSERT_TRUE(Exited(start(heal), kRight));
    }
    const int status = start([&] {
      return RunUntilKilled(folder_, GetParam(), "m.encore", number);
    });
    if (WIFEXITED(status)) {
      EXPECT_TRUE(Exited(status, kRight)) << status;
      break;
    }
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    ASSERT_TRUE(Exited(start(heal), kRight)) << "killed at call " << number;
  }
  EXPECT_GT(number, 100);
  std::cout << number / one_in << " deaths\n";
}

TEST_P(Deaths, AtEachCallOfAColdStart) { KillAtEachCall(false, StartOne); }

TEST_P(Deaths, AtEachCallOfAWarmStart) { KillAtEachCall(true, StartOne); }

TEST_P(Deaths, OfAColdStartUnderTheSameNumber) {
  KillAtEachCall(false, StartTheSecond);
}

TEST_P(Deaths, OfAWarmStartUnderTheSameNumber) {
  KillAtEachCall(true, StartTheSecond);
}

TEST_P(Deaths, OfEightAtOnce) {
  constexpr int kProcesses = 8;
  const int rounds = GetParam().one_in == 1 ? Rounds(30) : 5;
  scenario_.Reset();
  std::mt19937_64 random(Seed());
  int killed = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    if (round % 5 == 0) fs::remove_all(scenario_.store());
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const uint64_t number = random() % 400;
      children.push_back(StartChild([&, i, number] {
        return RunUntilKilled(folder_, GetParam(), StrCat("m", i, ".encore"),
                              number);
      }));
    }
    for (const pid_t child : children) {
      const int status = WaitForChild(child);
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
    Scenario again(folder_, target_);
    again.set_package(StrCat("m", i, ".encore"));
    EXPECT_TRUE(again.Run().ok());
  }
  EXPECT_EQ(scenario_.Heal(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Targets, Deaths,
    testing::Values(Sample{"ref", 1}, Sample{"cpu", 7}, Sample{"ref", 3, true}),
    [](const auto& info) {
      return StrCat(info.param.target, info.param.write_behind ? "Behind" : "");
    });

}  // namespace
}  // namespace encore::torture
