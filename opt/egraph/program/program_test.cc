// Runs every program in testdata and compares exit code, output and message
// with the .out file beside it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/driver.h"
#include "gtest/gtest.h"

namespace encore::opt::program {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "opt/egraph/program/testdata";

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in),
                     std::istreambuf_iterator<char>());
}

// What a run of the program looks like from outside, as a text file. Messages
// name files without their folder.
std::string Transcript(const fs::path& path) {
  std::string output;
  const ProgramResult result =
      RunProgramFile(path.string(), ReadFile, {},
                     [&](std::string_view text) { output += text; });
  std::string message = result.message;
  const std::string folder = path.parent_path().string() + "/";
  if (message.starts_with(folder)) message.erase(0, folder.size());
  if (!message.empty()) message += "\n";
  return StrCat("exit ", static_cast<int>(result.outcome), "\n", output,
                message);
}

std::vector<fs::path> Programs() {
  std::vector<fs::path> programs;
  for (const auto& entry : fs::directory_iterator(fs::path(kFolder))) {
    if (entry.path().extension() == ".egg") programs.push_back(entry.path());
  }
  std::sort(programs.begin(), programs.end());
  return programs;
}

TEST(ProgramTest, TestdataIsThere) { EXPECT_GT(Programs().size(), 50); }

class TestdataTest : public testing::TestWithParam<fs::path> {};

TEST_P(TestdataTest, BehavesAsWritten) {
  const std::string transcript = Transcript(GetParam());
  fs::path expected = GetParam();
  expected.replace_extension(".out");
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (std::getenv("ENCORE_UPDATE") != nullptr && workspace != nullptr) {
    std::ofstream(fs::path(workspace) / expected, std::ios::binary)
        << transcript;
    return;
  }
  EXPECT_EQ(transcript, ReadFile(expected.string()).value_or("no such file"))
      << "if this is right, run\n"
         "  ENCORE_UPDATE=1 bazel run //opt/egraph/program:program_test";
}

INSTANTIATE_TEST_SUITE_P(Testdata, TestdataTest, testing::ValuesIn(Programs()),
                         [](const auto& info) {
                           return info.param.stem().string();
                         });

// `levels` nested calls.
std::string Nested(std::string_view call, int levels, std::string_view core) {
  std::string text;
  for (int i = 0; i < levels; ++i) StrAppend(&text, "(", call, " ");
  text += core;
  return text + std::string(levels, ')');
}

ProgramResult RunText(const std::string& text, std::string* output) {
  return RunProgramFile(
      "text.egg", [&](const std::string&) { return text; }, {},
      [&](std::string_view printed) { *output += printed; });
}

TEST(ProgramTest, DepthIsNoLimit) {
  const std::string deep = Nested("S", 100000, "(Z)");
  std::string output;
  const ProgramResult result = RunText(
      StrCat("(datatype N (Z) (S N)) (let $deep ", deep, ")",
             "(check (= $deep ", deep, ")) (extract $deep)", "(run-schedule ",
             Nested("saturate", 100000, "(run)"), ")"),
      &output);
  EXPECT_EQ(result.message, "");
  EXPECT_TRUE(output == deep + "\n");
}

TEST(ProgramTest, AnExtractedTermTooLongToPrintIsAFailure) {
  std::string text = "(datatype T (L) (P T T)) (let $0 (L))";
  for (int i = 1; i < 70; ++i) {
    StrAppend(&text, "(let $", i, " (P $", i - 1, " $", i - 1, "))");
  }
  std::string output;
  const ProgramResult result = RunText(text + "(extract $69)", &output);
  EXPECT_EQ(result.outcome, ProgramOutcome::kFailed);
  EXPECT_EQ(output, "");
}

// As many matches at once as the engine looks ahead in, into a table that has
// no row yet.
TEST(ProgramTest, ManyMatchesIntoAnEmptyTable) {
  std::string text = "(relation r (i64)) (relation s (i64))";
  for (int i = 0; i < 1000; ++i) StrAppend(&text, "(r ", i, ")");
  std::string output;
  const ProgramResult result =
      RunText(text + "(rule ((r x)) ((s x))) (run 1) (print-size s)", &output);
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(output, "1000\n");
}

TEST(ProgramTest, LimitsEndRunsButNotTheProgram) {
  ExecutorOptions options;
  options.max_nodes = 1000;
  std::string output;
  const std::string text =
      "(datatype N (Z) (S N))"
      "(rule ((= x (S y))) ((S x))) (S (Z)) (run-schedule (saturate (run)))"
      "(check (S (Z))) (print-size S)";
  const ProgramResult result = RunProgramFile(
      "text.egg", [&](const std::string&) { return text; }, options,
      [&](std::string_view printed) { output += printed; });
  EXPECT_EQ(result.message, "");
  ASSERT_TRUE(result.stats.has_value());
  EXPECT_EQ(result.stats->stop, "nodes");
  EXPECT_LE(result.stats->enodes, 1002);
}

}  // namespace
}  // namespace encore::opt::program
