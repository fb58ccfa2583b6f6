#include "encore/backends/cpu/codegen/compiler.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

std::vector<std::string> Modules(int count) {
  std::vector<std::string> modules;
  for (int i = 0; i < count; ++i) {
    modules.push_back(StrCat("define i32 @f", i, "(i32 %x) {\n  %y = add i32 ",
                             "%x, ", i, "\n  ret i32 %y\n}\n"));
  }
  return modules;
}

bool ModuleIsMapped() {
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  return text.str().find("libencore_cpu_codegen.so") != std::string::npos;
}

// Whether the id is known before the module is mapped, and is the same after.
// REQUIRES a process in which nothing has been compiled.
bool IdIsKnownWithoutLoading() {
  const std::string id = CodegenId();
  return !ModuleIsMapped() && CompileObjects(Modules(1), Isa::kAvx2, 1).ok() &&
         ModuleIsMapped() && CodegenId() == id;
}

// In a process of its own, whatever ran before.
TEST(Compiler, TheIdIsKnownWithoutLoading) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(IdIsKnownWithoutLoading() ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

TEST(Compiler, TheIdIsAVersionAndABuild) {
  const std::string id = CodegenId();
  const std::vector<std::string_view> parts = StrSplit(id, ' ');
  ASSERT_EQ(parts.size(), 2) << id;
  // LLVM's version and a build id.
  EXPECT_EQ(std::count(parts[0].begin(), parts[0].end(), '.'), 2) << id;
  EXPECT_EQ(parts[1].size(), 40) << id;
  EXPECT_TRUE(std::all_of(parts[1].begin(), parts[1].end(),
                          [](unsigned char c) { return std::isxdigit(c); }))
      << id;
}

TEST(Compiler, AnyNumberOfThreadsGivesTheSameObjects) {
  const auto objects = CompileObjects(Modules(9), Isa::kAvx2, 1);
  ASSERT_TRUE(objects.ok()) << objects.status();
  for (const int threads : {2, 4, 9, 100}) {
    const auto other = CompileObjects(Modules(9), Isa::kAvx2, threads);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(*other, *objects) << threads;
  }
}

// Not one descriptor, not one byte: a disk that is full, a folder for temporary
// files that is not there make no difference.
TEST(Compiler, OpensAndWritesNoFiles) {
  ASSERT_TRUE(CompileObjects(Modules(1), Isa::kAvx2, 1).ok());
  rlimit files, bytes;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &bytes), 0);
  const rlimit no_files = {0, files.rlim_max}, no_bytes = {0, bytes.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &no_files), 0);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &no_bytes), 0);
  const auto objects = CompileObjects(Modules(3), Isa::kAvx2, 2);
  setrlimit(RLIMIT_NOFILE, &files);
  setrlimit(RLIMIT_FSIZE, &bytes);
  EXPECT_TRUE(objects.ok()) << objects.status();
}

// What handles each signal; null where that cannot be asked.
using Handlers = std::array<void (*)(int), 65>;

Handlers AllHandlers() {
  Handlers handlers = {};
  for (int signal = 1; signal < static_cast<int>(handlers.size()); ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0) {
      handlers[signal] = action.sa_handler;
    }
  }
  return handlers;
}

// Neither after compiling nor during it.
TEST(Compiler, TheProgramsSignalHandlersStay) {
  struct sigaction own = {}, before;
  own.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &own, &before), 0);
  const Handlers handlers = AllHandlers();
  std::atomic<bool> done = false;
  std::atomic<int> looks = 0, changes = 0;
  std::thread watch([&] {
    while (!done) {
      changes += AllHandlers() != handlers;
      ++looks;
    }
  });
  EXPECT_TRUE(CompileObjects(Modules(20), Isa::kAvx2, 2).ok());
  EXPECT_FALSE(
      CompileObjects(std::vector<std::string>{"nonsense"}, Isa::kAvx2, 1).ok());
  done = true;
  watch.join();
  EXPECT_EQ(changes, 0) << "in " << looks << " looks";
  EXPECT_EQ(AllHandlers(), handlers);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace encore::backends::cpu
