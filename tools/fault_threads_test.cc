// Faults in threads, and several at once: what a program ends with that has
// called CleanUpOnSignals.

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/thread.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/command.h"
#include "encore/tools/signals.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

constexpr char kReport[] = "an internal error .* please report";

// A sanitizer has the signals of the processor.
bool SegvIsTaken() {
  struct sigaction action;
  return sigaction(SIGSEGV, nullptr, &action) != 0 ||
         action.sa_handler != SIG_DFL;
}

// Needs more stack than there is.
int Recurse(int depth, volatile const char* from) {
  volatile char frame[4096] = {};
  frame[0] = *from;
  return depth == 0 ? 0 : Recurse(depth - 1, frame) + frame[0];
}

[[noreturn]] void Overflow() {
  const char zero = 0;
  std::exit(Recurse(1 << 30, &zero) + 1);
}

// Calls `f` in eight threads at the same time.
template <typename F>
void AtOnce(F f) {
  runtime::ThreadPool pool(8);
  std::atomic<int> ready = 0;
  pool.ParallelFor(8, [&](int64_t) {
    ++ready;
    while (ready < 8) {
    }
    f();
  });
}

class FaultThreadsTest : public testing::Test {
 protected:
  FaultThreadsTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
  }
};
using FaultThreadsDeathTest = FaultThreadsTest;

const testing::ExitedWithCode kOurFault(kExitOurFault);

TEST_F(FaultThreadsDeathTest, AStackOverflowsInThePool) {
  if (SegvIsTaken()) GTEST_SKIP() << "a sanitizer has taken SIGSEGV";
  EXPECT_EXIT(
      {
        CleanUpOnSignals();
        runtime::ThreadPool pool(3);
        const pid_t self = gettid();
        pool.ParallelFor(3, [&](int64_t) {
          if (gettid() != self) Overflow();
          sleep(60);
        });
      },
      kOurFault, kReport);
}

// The first one ends the process, while others run into the same.
TEST_F(FaultThreadsDeathTest, StacksOverflowInEveryThread) {
  if (SegvIsTaken()) GTEST_SKIP() << "a sanitizer has taken SIGSEGV";
  EXPECT_EXIT(
      {
        CleanUpOnSignals();
        AtOnce(Overflow);
      },
      kOurFault, kReport);
}

TEST_F(FaultThreadsDeathTest, AStackOverflowsInAThreadForOneTask) {
  if (SegvIsTaken()) GTEST_SKIP() << "a sanitizer has taken SIGSEGV";
  EXPECT_EXIT(
      {
        CleanUpOnSignals();
        std::async(std::launch::async, InThread([] {
                     Overflow();
                     return 1;
                   }))
            .wait();
      },
      kOurFault, kReport);
}

TEST_F(FaultThreadsDeathTest, AnAbortInAThreadCleansUp) {
  const std::string path = testing::TempDir() + "/target";
  EXPECT_EXIT(
      {
        CleanUpOnSignals();
        StatusOr<StagedFile> file = StagedFile::Create(path);
        std::thread(InThread([] { std::abort(); })).join();
      },
      kOurFault, "an internal error .abort.; please report");
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::TempDir())) {
    EXPECT_EQ(entry.path().filename().string().find("target"),
              std::string::npos)
        << entry.path();
  }
}

TEST_F(FaultThreadsDeathTest, WhatAnotherProcessSendsIsSaid) {
  const auto abort_from_outside = [] {
    CleanUpOnSignals();
    if (fork() == 0) {
      kill(getppid(), SIGABRT);
      _exit(0);
    }
    sleep(60);
  };
  EXPECT_EXIT(abort_from_outside(), kOurFault,
              "ended by signal 6 from process [0-9]+");
}

// Two that end it, at the same time in different threads.
TEST_F(FaultThreadsDeathTest, SeveralEndingsAreOne) {
  EXPECT_EXIT(
      {
        CleanUpOnSignals();
        AtOnce([] { raise(SIGTERM); });
      },
      testing::KilledBySignal(SIGTERM), "");
}

// Handlers are the program's: nothing else in it installs any.
TEST(FaultThreads, NoHandlersWithoutTheCall) {
  if (SegvIsTaken()) GTEST_SKIP() << "a sanitizer has taken SIGSEGV";
  runtime::ThreadPool pool(4);
  pool.ParallelFor(4, [](int64_t) {});
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0) continue;
    EXPECT_TRUE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        << signal;
  }
}

}  // namespace
}  // namespace encore::tools
