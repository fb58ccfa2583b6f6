#include "encore/tools/tune/machine_file.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/options.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

namespace cpu = backends::cpu;

// A variable of the environment that is as it was when this goes.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* const value = std::getenv(name)) before_ = value;
  }
  ~Variable() { Set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  void Set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A folder for kept profiles, empty at first.
class MachineFileTest : public testing::Test {
 protected:
  MachineFileTest() : folder_(StrCat(testing::TempDir(), "/machine")) {
    std::filesystem::remove_all(folder_);
    machine_.Set(folder_);
    path_ = MachineFile(cpu::HostCpu().isa);
    here_ = cpu::AsIf(cpu::NearestClass(cpu::HostCpu(), cpu::HostCpu().isa),
                      cpu::HostCpu());
    here_.name = "here";
  }

  const Variable machine_{"ENCORE_MACHINE"}, config_{"XDG_CONFIG_HOME"},
      home_{"HOME"};
  std::string folder_, path_;
  cpu::MachineProfile here_;
};

backends::CompileOptions With(const std::string& machine) {
  backends::CompileOptions options;
  options.machine = machine;
  return options;
}

TEST_F(MachineFileTest, LiesWhereTheEnvironmentSays) {
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), folder_ + "/avx2.txt");
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx512), folder_ + "/avx512.txt");
  machine_.Set("off");
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "");
  machine_.Set(std::nullopt);
  config_.Set("/somewhere");
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "/somewhere/encore/machine/avx2.txt");
  config_.Set(std::nullopt);
  home_.Set("/home/me");
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2),
            "/home/me/.config/encore/machine/avx2.txt");
  home_.Set(std::nullopt);
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "");
}

// What somebody measured on the machine that tests run on changes none of them.
TEST(MachineFile, TestsHaveNone) {
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "");
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx512), "");
}

TEST_F(MachineFileTest, WhatIsKeptIsUsedForThisMachineAlone) {
  EXPECT_EQ(*MachineOption({}), "");
  ASSERT_TRUE(WriteMachineFile(path_, here_).ok());
  EXPECT_EQ(*MachineOption({}), cpu::ToText(here_));
  // Not for a target that nothing is chosen for by it.
  backends::CompileOptions ref;
  ref.target = "ref";
  EXPECT_EQ(*MachineOption(ref), "");
  cpu::MachineProfile other = here_;
  other.first_model = ++other.last_model;
  ASSERT_TRUE(WriteMachineFile(path_, other).ok());
  EXPECT_EQ(*MachineOption({}), "");
}

TEST_F(MachineFileTest, AFlagNamesAClassOrAFile) {
  for (const cpu::MachineProfile& machine : cpu::MachineClasses()) {
    EXPECT_EQ(*MachineOption(With(machine.name)), machine.name);
  }
  const std::string path = StrCat(testing::TempDir(), "/laptop.txt");
  ASSERT_TRUE(WriteMachineFile(path, here_).ok());
  EXPECT_EQ(*MachineOption(With(path)), cpu::ToText(here_));
  const Status status = MachineOption(With("zen9")).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("--machine zen9"), std::string::npos);
  EXPECT_NE(Message(status).find("zen4-avx2"), std::string::npos);
}

TEST_F(MachineFileTest, AFileThatHoldsNoProfileIsAnErrorThatNamesIt) {
  ASSERT_TRUE(WriteMachineFile(path_, here_).ok());
  const std::string good = cpu::ToText(here_);
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), good + good,
        std::string("f32 nan\n"), std::string(1 << 20, 'x'),
        std::string("\0\x1b[2J\xff", 6), StrCat(good, "costs nobodys\n")}) {
    ASSERT_TRUE(WriteWholeFile(path_, bad).ok());
    for (const std::string& flag : {std::string(), path_}) {
      const Status status = MachineOption(With(flag)).status();
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(Message(status).find(path_), std::string::npos) << status;
      EXPECT_EQ(Message(status).find('\x1b'), std::string::npos);
    }
    // Measuring again mends it: what is broken is as if it were not there.
    EXPECT_FALSE(ReadMachineFile(path_).ok());
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(*ReadMachineFile(path_), std::nullopt);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(MachineOption({}).ok());
}

// Else each later compile would end with an error.
TEST_F(MachineFileTest, WhatCannotBeReadBackIsNotWritten) {
  ASSERT_TRUE(WriteMachineFile(path_, here_).ok());
  std::vector<cpu::MachineProfile> bad(4, here_);
  bad[0].vendor = "  Shanghai  ";
  bad[1].cache_bytes[0] = 0;
  bad[2].costs = "nobodys";
  bad[3].f32_flops = std::nan("");
  for (const cpu::MachineProfile& profile : bad) {
    const Status status = WriteMachineFile(path_, profile);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(Message(status).find(path_), std::string::npos) << status;
    EXPECT_EQ(*MachineOption({}), cpu::ToText(here_));
  }
}

// Two that measure at once, and one that was killed while it wrote.
TEST_F(MachineFileTest, WhoReadsMeanwhileSeesAWholeProfile) {
  cpu::MachineProfile other = here_;
  other.name = "other";
  ASSERT_TRUE(WriteMachineFile(path_, here_).ok());
  const std::string good = cpu::ToText(here_);
  const std::string dead =
      StrCat(folder_, "/.", std::filesystem::path(path_).filename().string(),
             ".0123456789abcdef", StagedFile::kSuffix);
  std::ofstream(dead) << good.substr(0, good.size() / 2);
  std::atomic<bool> failed = false;
  const auto write = [&](const cpu::MachineProfile& profile) {
    for (int i = 0; i < 50; ++i) {
      if (!WriteMachineFile(path_, profile).ok()) failed = true;
    }
  };
  std::thread first(write, std::cref(here_)), second(write, std::cref(other));
  for (int i = 0; i < 500; ++i) {
    const auto kept = ReadMachineFile(path_);
    EXPECT_TRUE(kept.ok()) << kept.status();
    if (!kept.ok()) continue;
    EXPECT_TRUE(kept->has_value());
    EXPECT_TRUE((*kept)->name == "here" || (*kept)->name == "other");
  }
  first.join();
  second.join();
  EXPECT_FALSE(failed);
}

TEST_F(MachineFileTest, AFolderThatIsClosedToWritingIsAnError) {
  // Closed to root, too.
  const std::string path = "/proc/avx2.txt";
  const Status status = WriteMachineFile(path, here_);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Message(status).find("/proc"), std::string::npos) << status;
}

TEST_F(MachineFileTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_) << "a file";
  const Status status = WriteMachineFile(path_, here_);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Message(status).find(folder_), std::string::npos) << status;
}

}  // namespace
}  // namespace encore::tools
