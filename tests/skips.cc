#include "encore/tests/skips.h"

#include <fstream>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::tests {

std::map<std::string, std::string> ReadSkips(const std::string& suite) {
  std::ifstream file("tests/skips.txt");
  ENCORE_CHECK(file.good()) << "tests/skips.txt is not among the test's data";
  std::map<std::string, std::string> skips;
  const std::string prefix = suite + "/";
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || !line.starts_with(prefix)) continue;
    const size_t end = line.find(' ');
    ENCORE_CHECK(end != std::string::npos) << "no reason: " << line;
    skips.emplace(line.substr(prefix.size(), end - prefix.size()),
                  StripWhitespace(std::string_view(line).substr(end)));
  }
  return skips;
}

}  // namespace encore::tests
