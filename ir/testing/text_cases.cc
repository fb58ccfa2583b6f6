#include "encore/ir/testing/text_cases.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "// ----\n";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

// "// key: value" among the comments before the input.
std::map<std::string, std::string> ReadOptions(const std::string& head) {
  std::map<std::string, std::string> options;
  std::istringstream lines(head);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("// ")) break;
    const size_t colon = line.find(": ");
    const std::string key = line.substr(3, colon - 3);
    if (colon == std::string::npos || key.find(' ') != std::string::npos) {
      continue;
    }
    options[key] = line.substr(colon + 2);
  }
  return options;
}

TextCase ReadTextCase(const fs::path& path) {
  const std::string text = ReadFile(path);
  const size_t separator = text.find(kSeparator);
  ENCORE_CHECK(separator != std::string::npos);
  TextCase result;
  result.path = path.string();
  result.folder = path.parent_path().filename().string();
  result.name = StrCat(result.folder, "_", path.stem().string());
  std::ranges::replace_if(
      result.name, [](char c) { return c == '-' || c == '.'; }, '_');
  result.head = text.substr(0, separator);
  result.options = ReadOptions(result.head);
  result.expected = text.substr(separator + kSeparator.size());
  return result;
}

std::string TextOf(const StatusOr<std::string>& output) {
  return output.ok() ? *output
                     : StrCat("error: ", Message(output.status()), "\n");
}

}  // namespace

StatusOr<Graph> TextCase::Parse() const { return ParseGraph(head); }

std::string TextCase::Option(const std::string& key,
                             const std::string& fallback) const {
  const auto it = options.find(key);
  return it == options.end() ? fallback : it->second;
}

std::vector<TextCase> ReadTextCases(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<TextCase> cases;
  for (const fs::path& path : paths) cases.push_back(ReadTextCase(path));
  return cases;
}

void CheckTextCase(const TextCase& text_case,
                   const StatusOr<std::string>& output,
                   const StatusOr<std::string>& without,
                   const std::vector<std::string>& known) {
  for (const auto& [key, value] : text_case.options) {
    EXPECT_TRUE(std::ranges::find(known, key) != known.end())
        << text_case.path << ": no option is called " << key;
  }
  const std::string text = TextOf(output);
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (std::getenv("ENCORE_UPDATE") != nullptr && workspace != nullptr) {
    std::ofstream(fs::path(workspace) / text_case.path, std::ios::binary)
        << text_case.head << kSeparator << text;
  } else {
    EXPECT_EQ(text, text_case.expected)
        << text_case.path << "; if this is right, run tests/update_cases";
  }
  EXPECT_NE(text, TextOf(without))
      << text_case.path << " is the same without what it tests";
}

void PrintTo(const TextCase& text_case, std::ostream* out) {
  *out << text_case.path;
}

}  // namespace encore
