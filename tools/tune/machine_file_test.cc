#include "encore/tools/tune/machine_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

// A folder for kept profiles, empty at first.
class MachineFileTest : public testing::Test {
 protected:
  MachineFileTest() : folder_(StrCat(testing::TempDir(), "/machine")) {
    std::filesystem::remove_all(folder_);
    setenv("ENCORE_MACHINE", folder_.c_str(), 1);
    path_ = MachineFile(cpu::HostCpu().isa);
    here_ = cpu::AsIf(cpu::NearestClass(cpu::HostCpu(), cpu::HostCpu().isa),
                      cpu::HostCpu());
    here_.name = "here";
  }
  ~MachineFileTest() override { unsetenv("ENCORE_MACHINE"); }

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
  setenv("ENCORE_MACHINE", "off", 1);
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "");
  unsetenv("ENCORE_MACHINE");
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2), "/somewhere/encore/machine/avx2.txt");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(MachineFile(cpu::Isa::kAvx2),
            "/home/me/.config/encore/machine/avx2.txt");
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

TEST_F(MachineFileTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_) << "a file";
  const Status status = WriteMachineFile(path_, here_);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Message(status).find(folder_), std::string::npos) << status;
}

}  // namespace
}  // namespace encore::tools
