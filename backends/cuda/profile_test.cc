#include "encore/backends/cuda/profile.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using ::testing::HasSubstr;

constexpr char kH100[] =
    R"({"name": "h100", "architecture": "sm_90a", "multiprocessors": 132,
        "memory_bytes": 84942979072, "l2_bytes": 52428800,
        "shared_bytes": 232448, "clock_khz": 1980000, "memory_khz": 2619000,
        "bus_bits": 5120, "lanes": 128})";

std::string With(std::string_view old, std::string_view text) {
  std::string json = kH100;
  json.replace(json.find(old), old.size(), text);
  return json;
}

std::string Written(const std::string& name, const std::string& text) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  std::string path = StrCat(folder == nullptr ? "." : folder, "/", name);
  std::ofstream(path) << text;
  return path;
}

TEST(Profile, FilesSayWhatTheTableSays) {
  const auto parsed = ParseProfile(kH100);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->ToString(), FindProfile("h100")->ToString());
  CompileOptions options;
  options.target =
      StrCat("cpu,cuda:", Written("b.json", With("\"h100\"", "\"other\"")));
  EXPECT_EQ(ProfileOf(options).name, "other");
  EXPECT_NE(ProfileOf(options).ToString(), parsed->ToString());
}

TEST(Profile, ArchitecturesAreThoseOfTheNearest) {
  EXPECT_EQ(FindProfile("sm_90")->name, "h100");
  EXPECT_FALSE(FindProfile("sm_90")->architecture.specific);
  EXPECT_EQ(FindProfile("sm_89")->name, "a100");
  EXPECT_EQ(FindProfile("sm_89")->architecture.number(), 89u);
  EXPECT_EQ(FindProfile("sm_120a")->name, "b200");
  EXPECT_EQ(FindProfile("h1").status().code(), StatusCode::kNotFound);
  for (const char* name : {"sm_70", "sm_91", "sm_", "sm_80a", "sm_90b"}) {
    const Status status = FindProfile(name).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(Message(status), HasSubstr("sm_80, sm_86")) << name;
  }
}

TEST(Profile, ErrorsNameTheField) {
  const auto error = [](const std::string& json) {
    const Status status = ParseProfile(json).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << json;
    return Message(status);
  };
  EXPECT_THAT(error(""), HasSubstr("object"));
  EXPECT_THAT(error("[1]"), HasSubstr("object"));
  EXPECT_THAT(error(std::string(50000, '[')), HasSubstr("object"));
  EXPECT_THAT(error(With("\"h100\"", "7")), HasSubstr("name"));
  EXPECT_THAT(error(With("\"h100\"", "\"\"")), HasSubstr("name"));
  EXPECT_THAT(error(With("sm_90a", "sm_91")), HasSubstr("sm_91"));
  EXPECT_THAT(error(With("132", "0")), HasSubstr("multiprocessors"));
  EXPECT_THAT(error(With("132", "-1")), HasSubstr("multiprocessors"));
  EXPECT_THAT(error(With("132", "1.5")), HasSubstr("multiprocessors"));
  EXPECT_THAT(error(With("132", "1e400")), HasSubstr("object"));
  EXPECT_THAT(error(With("52428800", "99999999999999999999")),
              HasSubstr("l2_bytes"));
  EXPECT_THAT(error(With(", \"lanes\": 128", "")), HasSubstr("lanes"));
  EXPECT_THAT(error(With("\"lanes\"", "\"sms\": 1, \"lanes\"")),
              HasSubstr("\"sms\""));
}

TEST(Profile, ErrorsNameTheFile) {
  const std::string path = Written("wrong.json", With("132", "0"));
  EXPECT_THAT(Message(FindProfile(path).status()),
              HasSubstr(StrCat(path, ": field multiprocessors")));
  const Status large =
      FindProfile(Written("large.json", std::string(1 << 20, ' '))).status();
  EXPECT_THAT(Message(large), HasSubstr("at most 65536"));
  EXPECT_EQ(FindProfile("/nowhere/a.json").status().code(),
            StatusCode::kNotFound);
}

// Within a process they do not change under a compile.
TEST(Profile, FilesAreReadOnce) {
  const std::string path = Written("once.json", kH100);
  ASSERT_TRUE(FindProfile(path).ok());
  Written("once.json", "");
  EXPECT_TRUE(FindProfile(path).ok());
  // What is refused once is not what is planned for later.
  const std::string wrong = Written("refused.json", "");
  EXPECT_FALSE(FindProfile(wrong).ok());
  Written("refused.json", kH100);
  EXPECT_FALSE(FindProfile(wrong).ok());
}

}  // namespace
}  // namespace encore::backends::cuda
