// A disk that is full, read-only or not for programs, and processes that may
// open few files, write short ones, have little address space or stack, or
// start no threads: outputs are right, or an error says what is missing, and
// all is well once there is room again. Each runs in a process of its own, the
// disks in a namespace of their own.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 77;

// What this program is told, with a target and a folder, to run a scenario
// twice instead of the tests.
constexpr char kRunTwice[] = "--run-twice";
constexpr rlim_t kLeastStackKb = 256;

// The sanitizers look at memory through pipes of their own, and take more
// address space than there may be, and stacks.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kHasSanitizer = true;
#else
constexpr bool kHasSanitizer = false;
#endif
constexpr rlim_t kFewestDescriptors = kHasSanitizer ? 40 : 3;

// Runs `body` in a child process and gives its exit code, or the number of the
// signal that killed it, negated. What `body` says goes to the log.
int InProcess(const std::function<int()>& body) {
  const int status = WaitForChild(StartChild(body));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// Puts this process into a namespace where it may mount; false where that is
// refused.
bool EnterNamespace() {
  const std::string user = StrCat("0 ", getuid(), " 1");
  const std::string group = StrCat("0 ", getgid(), " 1");
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  WriteText("/proc/self/setgroups", "deny");
  WriteText("/proc/self/uid_map", user);
  WriteText("/proc/self/gid_map", group);
  return true;
}

bool Mount(const std::string& folder, unsigned long flags) {
  return mount("tmpfs", folder.c_str(), "tmpfs", flags, "size=512k") == 0;
}

// 0 where the outcome is what it may be: right, or an error of the package that
// names a path. Prints what is not.
int Judge(const char* when, const Scenario::Outcome& outcome) {
  const bool named = outcome.package.ok() ||
                     Message(outcome.package).find('/') != std::string::npos;
  if (!outcome.is_wrong && outcome.import.ok() && outcome.load.ok() && named) {
    return 0;
  }
  std::printf("%s: %s\n", when,
              StrCat(outcome.is_wrong ? "wrong " : "", outcome.import, " ",
                     outcome.load, " ", outcome.package)
                  .c_str());
  return 1;
}

int ExpectAll(const char* when, const Scenario& scenario) {
  const Scenario::Outcome first = scenario.Run(), second = scenario.Run();
  if (first.ok() && second.ok() && second.statistics.misses == 0) return 0;
  Judge(when, first);
  std::printf("%s: %d misses\n", when,
              static_cast<int>(second.statistics.misses));
  return 1;
}

class Limits : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  // Runs `body(scenario)` on a small disk of its own.
  void OnDisk(unsigned long flags,
              const std::function<int(const Scenario&)>& body) {
    const int code = InProcess([&] {
      if (!EnterNamespace() || !Mount(folder_, flags)) return kRefused;
      const Scenario scenario(folder_ + "/work", GetParam());
      scenario.Reset();
      return body(scenario);
    });
    if (code == kRefused) {
      GTEST_SKIP() << "the system refuses namespaces of mounts (unshare)";
    }
    EXPECT_EQ(code, 0);
  }

  const std::string folder_ = testing::TempDir() + "limits";
};

TEST_P(Limits, AFullDisk) {
  OnDisk(0, [&](const Scenario& scenario) {
    const std::string filler = folder_ + "/filler";
    int failed = 0;
    for (const bool warm : {false, true}) {
      if (warm) failed |= ExpectAll("before", scenario);
      {
        std::ofstream file(filler, std::ios::binary);
        const std::string page(4096, 'x');
        while (file << page << std::flush) {
        }
      }
      for (int i = 0; i < 3; ++i) failed |= Judge("full", scenario.Run());
      fs::remove(filler);
      failed |= ExpectAll("room again", scenario);
    }
    return failed;
  });
}

TEST_P(Limits, AReadOnlyDisk) {
  OnDisk(0, [&](const Scenario& scenario) {
    int failed = 0;
    // What was wrong before is no less so.
    const auto refused = [&] { return failed != 0 ? failed : kRefused; };
    for (const bool warm : {false, true}) {
      if (warm) failed |= ExpectAll("before", scenario);
      const auto remount = [&](unsigned long flags) {
        return mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | flags,
                     "size=512k");
      };
      if (remount(MS_RDONLY) != 0) return refused();
      for (int i = 0; i < 3; ++i) failed |= Judge("read-only", scenario.Run());
      if (remount(0) != 0) return refused();
      failed |= ExpectAll("writable again", scenario);
    }
    return failed;
  });
}

// Code is run from memory, not from the disk that it lies on.
TEST_P(Limits, ADiskThatIsNotForPrograms) {
  OnDisk(MS_NOEXEC | MS_NOSUID | MS_NODEV, [](const Scenario& scenario) {
    return ExpectAll("not for programs", scenario);
  });
}

bool SetLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

TEST_P(Limits, OfFiles) {
  const Scenario scenario(folder_ + "/work", GetParam());
  struct Limit {
    int resource;
    rlim_t least, most, step;
  };
  for (const auto& [resource, least, most, step] :
       {Limit{RLIMIT_NOFILE, kFewestDescriptors, 40, 1},
        Limit{RLIMIT_FSIZE, 0, 40 << 10, 1 << 10}}) {
    for (rlim_t value = least; value <= most; value += step) {
      scenario.Reset();
      const int code = InProcess([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        if (!SetLimit(resource, value)) return kRefused;
        // With few descriptors a model may not be read, or a library.
        const Scenario::Outcome outcome = scenario.Run();
        return outcome.is_wrong ? 1 : 0;
      });
      EXPECT_EQ(code, 0) << "limit " << resource << " at " << value;
      EXPECT_EQ(ExpectAll("without limits", scenario), 0)
          << "limit " << resource << " at " << value;
    }
  }
}

// The address space of this process.
rlim_t MappedBytes() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// Whether an error says that something is not to be had, and what.
bool SaysWhatIsMissing(const Status& status) {
  return status.ok() || CodeCannotRun(status) ||
         (status.code() == StatusCode::kResourceExhausted &&
          !Message(status).empty());
}

// Runs as the tool does, which takes an object for which there is no memory for
// an unusable input: results are right, or there is an error. 0, or 2 with the
// error in the log, where that is so.
int RunInLittleMemory(const Scenario& scenario) {
  try {
    const Scenario::Outcome outcome = scenario.Run();
    if (!outcome.ok()) std::printf("%s\n", ToText(outcome).c_str());
    for (const Status* status :
         {&outcome.import, &outcome.load, &outcome.package}) {
      if (outcome.is_wrong || !SaysWhatIsMissing(*status)) return 1;
    }
    return outcome.ok() ? 0 : 2;
  } catch (const std::bad_alloc&) {
    std::printf("out of memory\n");
    return 2;
  }
}

// No process ends by a signal, however little there is.
TEST_P(Limits, OfAddressSpace) {
  if (kHasSanitizer) GTEST_SKIP() << "sanitizers need more memory";
  const Scenario scenario(folder_ + "/work", GetParam());
  int right = 0, failed = 0;
  for (const bool warm : {false, true}) {
    for (rlim_t room = 0; room <= 256 << 10;
         room += room < 512 ? 32 : room / 4) {
      scenario.Reset();
      if (warm) {
        ASSERT_EQ(ExpectAll("before", scenario), 0);
      }
      const int code = InProcess([&] {
        if (!SetLimit(RLIMIT_AS, MappedBytes() + (room << 10))) return kRefused;
        return RunInLittleMemory(scenario);
      });
      ASSERT_TRUE(code == 0 || code == 2)
          << "exit code " << code << " with " << room << " KiB";
      ++(code == 0 ? right : failed);
      EXPECT_EQ(ExpectAll("without limits", scenario), 0) << room << " KiB";
    }
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(failed, 0);
  std::cout << "address space: " << right << " right, " << failed
            << " with an error\n";
}

// Threads have stacks of the size that the limit says when a program starts: it
// is started anew.
TEST_P(Limits, OfTheStack) {
  if (kHasSanitizer) GTEST_SKIP() << "sanitizers need more memory";
  const Scenario scenario(folder_ + "/work", GetParam());
  for (rlim_t kilobytes = kLeastStackKb; kilobytes <= 4096; kilobytes *= 2) {
    scenario.Reset();
    const int code = InProcess([&] {
      if (!SetLimit(RLIMIT_STACK, kilobytes << 10)) return kRefused;
      execl("/proc/self/exe", "limits_test", kRunTwice, GetParam(),
            (folder_ + "/work").c_str(), nullptr);
      return kRefused;
    });
    EXPECT_EQ(code, 0) << kilobytes << " KiB";
  }
}

// Makes the limit of processes hold for this one, as it does for whoever is not
// root.
bool BecomeLimited() {
  if (getuid() != 0) return true;
  if (setresuid(65534, 0, 0) != 0) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (const int capability : {CAP_SYS_ADMIN, CAP_SYS_RESOURCE}) {
    data[capability / 32].effective &= ~(1u << capability % 32);
  }
  return syscall(SYS_capset, &header, data) == 0;
}

// Whether a thread can be started.
bool StartsThreads() {
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

// No thread, and one: all is done by those that there are.
TEST_P(Limits, OfThreads) {
  for (const rlim_t value : {1, 2}) {
    const int code = InProcess([&] {
      if (!BecomeLimited() || !SetLimit(RLIMIT_NPROC, value)) return kRefused;
      if (value == 1 && StartsThreads()) return kRefused;
      const Scenario scenario(folder_ + "/work", GetParam(), 4);
      scenario.Reset();
      return ExpectAll("with few threads", scenario);
    });
    if (code == kRefused) {
      GTEST_SKIP() << "the system does not limit processes (RLIMIT_NPROC)";
    }
    EXPECT_EQ(code, 0) << "at most " << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Limits, testing::Values("ref", "cpu"));

}  // namespace

int RunTwice(const char* target, const char* folder) {
  return ExpectAll("started anew", Scenario(folder, target));
}

}  // namespace encore::torture

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == std::string(encore::torture::kRunTwice)) {
    return encore::torture::RunTwice(argv[2], argv[3]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
