// The table of field numbers against the .proto files of the pinned onnx wheel.
#include "encore/ir/import/onnx/format/wire_fields.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

struct Row {
  std::string message, field;
  int number;
};

std::vector<Row> Table() {
  std::vector<Row> rows;
  std::string message;
#define ENCORE_ONNX_MESSAGE(Name, text) message = text;
#define ENCORE_ONNX_FIELD(Enumerator, field, number) \
  rows.push_back({message, field, number});
#define ENCORE_ONNX_MESSAGE_END(Name)
#include "encore/ir/import/onnx/format/wire_fields.def"
#undef ENCORE_ONNX_MESSAGE
#undef ENCORE_ONNX_FIELD
#undef ENCORE_ONNX_MESSAGE_END
  return rows;
}

// The numbers that a .proto file gives, by message and field. Blocks other than
// messages (enum, oneof) name no message: a oneof's fields are its message's.
void ReadProto(const std::string& path,
               std::map<std::pair<std::string, std::string>, int>* numbers) {
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << ": run ./encore setup";
  const std::regex block(R"(^\s*(message|enum|oneof)\s+(\w+)\s*\{)");
  const std::regex field(R"(^\s*(?:optional|repeated|required)?\s*[\w.]+\s+)"
                         R"((\w+)\s*=\s*(\d+)\s*(?:\[.*\])?\s*;)");
  std::vector<std::string> names;  // of the blocks around a line
  std::string line;
  while (std::getline(file, line)) {
    line = line.substr(0, line.find("//"));
    std::smatch match;
    if (std::regex_search(line, match, block)) {
      const std::string outer = names.empty() ? "" : names.back();
      const std::string name = match[2];
      names.push_back(match[1] == "oneof"  ? outer
                      : match[1] == "enum" ? ""
                      : outer.empty()      ? name
                                           : StrCat(outer, ".", name));
      if (line.find('}') != std::string::npos) names.pop_back();
    } else if (line.find('}') != std::string::npos) {
      ASSERT_FALSE(names.empty()) << path << ": " << line;
      names.pop_back();
    } else if (!names.empty() && !names.back().empty() &&
               std::regex_search(line, match, field)) {
      (*numbers)[{names.back(), match[1]}] = std::stoi(match[2]);
    }
  }
}

TEST(WireFields, AreThoseOfTheStandard) {
  const char* deps = std::getenv("ENCORE_DEPS");
  ASSERT_NE(deps, nullptr) << "run ./encore setup";
  const std::string folder = StrCat(deps, "/onnx/onnx==1.23.2/onnx");
  std::map<std::pair<std::string, std::string>, int> numbers;
  ReadProto(folder + "/onnx.proto", &numbers);
  ReadProto(folder + "/onnx-data.proto", &numbers);
  ASSERT_GT(numbers.size(), 100u);
  for (const Row& row : Table()) {
    const auto found = numbers.find({row.message, row.field});
    ASSERT_NE(found, numbers.end()) << row.message << "." << row.field;
    EXPECT_EQ(row.number, found->second) << row.message << "." << row.field;
  }
}

TEST(WireFields, NoMessageHasANumberTwice) {
  std::set<std::pair<std::string, int>> seen;
  for (const Row& row : Table()) {
    EXPECT_TRUE(seen.emplace(row.message, row.number).second)
        << row.message << "." << row.field;
  }
}

}  // namespace
}  // namespace encore::onnx
