#include "encore/tools/session_flags.h"

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/backends/backends.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using backends::CompileOptions;
using backends::OptionInfo;

// The flags after a command line of `arguments`; an empty target where it does
// not parse.
SessionFlags Parse(std::vector<std::string> arguments) {
  CLI::App app("test", "test");
  SessionFlags flags;
  AddSessionFlags(app, &flags);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError&) {
    flags.compile.target.clear();
  }
  return flags;
}

TEST(SessionFlagsTest, WithoutFlagsOptionsAreTheTables) {
  EXPECT_EQ(Parse({}).compile, CompileOptions());
}

TEST(SessionFlagsTest, EveryRowWithAFlagIsInTheHelp) {
  CLI::App app("test", "test");
  SessionFlags flags;
  AddSessionFlags(app, &flags);
  const std::string help = app.help();
  int count = 0;
  backends::VisitOptions(
      flags.compile, [&](const OptionInfo& info, const auto& value) {
        if (info.flag.empty()) return;
        ++count;
        EXPECT_NE(help.find(info.flag), std::string::npos) << info.name;
        // The help may be broken into lines anywhere but in a word.
        const std::string_view word = info.help.substr(0, info.help.find(' '));
        EXPECT_NE(help.find(word), std::string::npos) << info.name;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_enum_v<Value>) {
          for (const std::string_view name : backends::ValueNames<Value>()) {
            EXPECT_NE(help.find(name), std::string::npos) << name;
          }
        }
      });
  EXPECT_GE(count, 7);
  for (const char* flag : {"--threads", "--cache", "--no-cache"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
}

TEST(SessionFlagsTest, EveryValueOfAnEnumerationIsTaken) {
  const CompileOptions defaults;
  backends::VisitOptions(defaults, [&](const OptionInfo& info,
                                       const auto& fallback) {
    using Value = std::decay_t<decltype(fallback)>;
    if constexpr (std::is_enum_v<Value>) {
      const std::string flag(info.flag);
      for (const std::string_view name : backends::ValueNames<Value>()) {
        const SessionFlags flags = Parse({flag, std::string(name)});
        backends::VisitOptions(flags.compile, [&](const OptionInfo& other,
                                                  const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Value>) {
            EXPECT_EQ(backends::Name(value), name) << other.name;
          }
        });
      }
      EXPECT_EQ(Parse({flag, "other"}).compile.target, "");
    }
  });
}

TEST(SessionFlagsTest, OtherTypesAreRead) {
  const CompileOptions options =
      Parse({"--target", "ref", "--placement", "x=cpu", "--deterministic",
             "--tune", "2.5"})
          .compile;
  EXPECT_EQ(options.target, "ref");
  EXPECT_EQ(options.placement, "x=cpu");
  EXPECT_TRUE(options.deterministic);
  EXPECT_EQ(options.tune_seconds, 2.5);
  EXPECT_EQ(Parse({"--tune", "-1"}).compile.target, "");
}

TEST(SessionFlagsTest, WhatATargetWouldIgnoreIsRefused) {
  for (const char* target : {"cpu", "ref"}) {
    SessionFlags flags =
        Parse({"--target", target, "--precision", "bf16", "--no-cache"});
    const auto session = OpenSession(flags);
    EXPECT_EQ(session.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(session.status()),
              std::string("--precision bf16: target ") + target +
                  " would ignore it; it accepts f32");
  }
}

}  // namespace
}  // namespace encore::tools
