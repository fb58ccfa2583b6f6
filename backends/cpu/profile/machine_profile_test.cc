#include "encore/backends/cpu/profile/machine_profile.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/costs.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

CpuInfo Cpu(std::string_view vendor, int family, int model, Isa isa) {
  CpuInfo cpu;
  cpu.vendor = vendor;
  cpu.family = family;
  cpu.model = model;
  cpu.isa = isa;
  return cpu;
}

std::vector<std::string> LinesOf(const MachineProfile& profile) {
  std::vector<std::string> lines;
  const std::string text = ToText(profile);
  for (const std::string_view line : StrSplit(text, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

TEST(MachineProfile, TextIsReadBack) {
  for (const MachineProfile& profile : MachineClasses()) {
    const auto read = ParseMachine(ToText(profile));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(ToText(*read), ToText(profile));
    EXPECT_EQ(ToLine(profile).find('\n'), std::string::npos);
  }
}

TEST(MachineProfile, EveryClassHasANameCostsAndEachLevelLessThanTheOneBefore) {
  std::set<std::string> names;
  for (const MachineProfile& profile : MachineClasses()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_EQ(FindMachineClass(profile.name), &profile);
    for (int i = 0; i < kTemplates; ++i) {
      EXPECT_GT(CycleSeconds(static_cast<Template>(i), profile), 0);
    }
    for (int i = 1; i < kMemoryLevels; ++i) {
      EXPECT_LT(profile.bandwidth[i].one, profile.bandwidth[i - 1].one);
      EXPECT_LT(profile.bandwidth[i].all, profile.bandwidth[i - 1].all);
    }
  }
}

// Each number changes the text, which is in the key.
TEST(MachineProfile, EveryLineCounts) {
  const std::vector<std::string> lines = LinesOf(MachineClasses()[0]);
  EXPECT_EQ(lines.size(), 14u);
  std::set<std::string> texts = {ToText(MachineClasses()[0])};
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> other = lines;
    if (lines[i] == "isa avx512") {
      other[i] = "isa avx2";
    } else {
      other[i] += lines[i].starts_with("machine") ? "x" : "1";
    }
    const auto read = ParseMachine(StrJoin(other, "\n"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(texts.insert(ToText(*read)).second) << lines[i];
  }
}

TEST(MachineProfile, WhatIsNoProfileIsAnErrorThatNamesTheLine) {
  const std::vector<std::string> lines = LinesOf(MachineClasses()[0]);
  const auto message = [&](size_t at, const std::string& line) {
    std::vector<std::string> other = lines;
    other[at] = line;
    const auto read = ParseMachine(StrJoin(other, "\n"));
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << line;
    return Message(read.status());
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    // Left out, twice, cut, with a word more, with what is no number.
    EXPECT_NE(message(i, "").find("missing"), std::string::npos);
    EXPECT_NE(message((i + 1) % lines.size(), lines[i]).find("twice"),
              std::string::npos);
    const size_t space = lines[i].rfind(' ');
    EXPECT_NE(message(i, lines[i].substr(0, space)).find("line "),
              std::string::npos);
    EXPECT_NE(message(i, lines[i] + " 7").find("extra"), std::string::npos);
    const bool text_field =
        lines[i].starts_with("machine") || lines[i].starts_with("costs");
    for (const char* word : {"nan", "inf", "-1", "1e300",
                             "99999999999999999999", "\x1b[2J", "%s"}) {
      // Some of them are names.
      if (text_field && std::string_view(word).find_first_of("[%") ==
                            std::string_view::npos) {
        continue;
      }
      const std::string text = message(i, lines[i].substr(0, space + 1) + word);
      EXPECT_NE(text.find("line "), std::string::npos);
      EXPECT_EQ(text.find('\x1b'), std::string::npos);
    }
  }
  EXPECT_NE(message(3, "frequency 3").find("frequency"), std::string::npos);
  EXPECT_FALSE(ParseMachine("").ok());
  EXPECT_FALSE(ParseMachine(std::string(1 << 20, '#')).ok());
  EXPECT_FALSE(ParseMachine(std::string_view("machine \0", 9)).ok());
}

TEST(MachineProfile, AnUnknownCpuHasTheNearestClassOfItsInstructionSet) {
  for (const MachineProfile& profile : MachineClasses()) {
    const CpuInfo known =
        Cpu(profile.vendor, profile.family, profile.last_model, profile.isa);
    EXPECT_EQ(&NearestClass(known, profile.isa), &profile);
    EXPECT_TRUE(profile.Covers(known));
  }
  const CpuInfo zen3 = Cpu("AuthenticAMD", 25, 33, Isa::kAvx2);
  EXPECT_EQ(NearestClass(zen3, Isa::kAvx2).name, "zen4-avx2");
  EXPECT_FALSE(NearestClass(zen3, Isa::kAvx2).Covers(zen3));
  const CpuInfo zen6 = Cpu("AuthenticAMD", 27, 0, Isa::kAvx512);
  EXPECT_EQ(NearestClass(zen6, Isa::kAvx512).name, "zen5-avx512");
  EXPECT_EQ(NearestClass(zen6, Isa::kAvx2).name, "zen5-avx2");
  const CpuInfo other = Cpu("GenuineIntel", 6, 143, Isa::kAvx512);
  EXPECT_EQ(NearestClass(other, Isa::kAvx512).isa, Isa::kAvx512);
  EXPECT_FALSE(NearestClass(other, Isa::kAvx512).Covers(other));
}

TEST(MachineProfile, TheThreadsShareABandwidth) {
  MachineProfile profile = MachineClasses()[0];
  profile.cores = 5;
  profile.bandwidth[3] = {10e9, 50e9};
  EXPECT_EQ(profile.BytesPerSecond(MemoryLevel::kMemory, 1), 10e9);
  EXPECT_EQ(profile.BytesPerSecond(MemoryLevel::kMemory, 3), 30e9);
  EXPECT_EQ(profile.BytesPerSecond(MemoryLevel::kMemory, 5), 50e9);
  EXPECT_EQ(profile.BytesPerSecond(MemoryLevel::kMemory, 64), 50e9);
}

TEST(MachineProfile, AreFoundByNameAndByText) {
  const MachineProfile& known = MachineClasses()[0];
  EXPECT_EQ(*FindMachine(known.name), &known);
  const auto text = FindMachine(ToText(known));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*FindMachine(ToText(known)), *text);
  EXPECT_EQ(ToText(**text), ToText(known));
  EXPECT_NE(Message(FindMachine("pdp11").status()).find(known.name),
            std::string::npos);
  MachineProfile other = known;
  other.costs = "nobodys";
  EXPECT_NE(Message(FindMachine(ToText(other)).status()).find("nobodys"),
            std::string::npos);
}

}  // namespace
}  // namespace encore::backends::cpu
