#include "encore/runtime/testing/plan_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_text_parser.h"

namespace encore::runtime {

std::vector<std::string> PlanFiles(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".plan") paths.push_back(entry.path());
  }
  ENCORE_CHECK(!paths.empty()) << "no plans in " << folder;
  std::ranges::sort(paths);
  return paths;
}

std::string ReadPlanText(const std::string& path) {
  std::ifstream file(path);
  ENCORE_CHECK(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

CompiledGraph ReadPlanFile(const std::string& path) {
  auto graph = ParseCompiledGraphText(ReadPlanText(path));
  ENCORE_CHECK(graph.ok()) << path << ":" << Message(graph.status());
  return *std::move(graph);
}

std::vector<std::string_view> Expectations(std::string_view text) {
  constexpr std::string_view kMark = "// expect: ";
  std::vector<std::string_view> found;
  for (const std::string_view line : StrSplit(text, '\n')) {
    if (line.starts_with(kMark)) found.push_back(line.substr(kMark.size()));
  }
  return found;
}

}  // namespace encore::runtime
