#include "encore/tests/onnx/case_table.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/case.h"
#include "encore/tests/skips.h"

namespace encore::tests {
namespace {

struct Row {
  int cases = 0;
  // Cases by the reason for which they are skipped.
  std::map<std::string, int> skipped;

  int skips() const {
    int count = 0;
    for (const auto& [reason, cases] : skipped) count += cases;
    return count;
  }
};

struct Table {
  std::map<std::string, Row> operators;
  Row all;
};

// The operators of a model, those of subgraphs too.
std::set<std::string> OperatorsOf(const std::string& path) {
  const auto file = MappedFile::Open(path);
  ENCORE_CHECK(file.ok()) << path;
  const auto model = onnx::ReadModel((*file)->bytes());
  ENCORE_CHECK(model.ok()) << path;
  std::set<std::string> operators;
  std::vector<const onnx::Graph*> graphs = {&model->graph};
  while (!graphs.empty()) {
    const onnx::Graph* graph = graphs.back();
    graphs.pop_back();
    for (const onnx::Node& node : graph->nodes) {
      operators.emplace(node.op_type);
      for (const onnx::Attribute& attribute : node.attributes) {
        if (attribute.g != nullptr) graphs.push_back(attribute.g.get());
      }
    }
  }
  return operators;
}

Table MakeTable(const std::string& suite, const std::string& root,
                const std::vector<std::string>& cases) {
  ENCORE_CHECK(!cases.empty()) << root << " has no cases: run ./encore setup";
  const auto skips = ReadSkips(suite);
  Table table;
  for (const std::string& name : cases) {
    const auto skip = skips.find(name);
    const auto count = [&](Row& row) {
      ++row.cases;
      if (skip != skips.end()) ++row.skipped[skip->second];
    };
    count(table.all);
    for (const auto& op : OperatorsOf(StrCat(root, "/", name, "/model.onnx"))) {
      count(table.operators[op]);
    }
  }
  return table;
}

std::string RowText(const std::string& title, const Row& row) {
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : row.skipped) {
    reasons.push_back(StrCat(reason, " (", count, ")"));
  }
  return StrCat("| ", title, " | ", row.cases, " | ", row.cases - row.skips(),
                " | ", StrJoin(reasons, "; "), " |\n");
}

std::string Section(const std::string& title, const Table& table) {
  std::string text = StrCat(
      "\n## ", title,
      "\n\n| operator | cases | passed | skipped |\n|---|---|---|---|\n");
  text += RowText("all", table.all);
  for (const auto& [op, row] : table.operators) text += RowText(op, row);
  return text;
}

}  // namespace

std::string CaseTableMarkdown() {
  std::string page =
      "# ONNX's cases by operator\n\n"
      "Generated: `bazel run //tests/onnx:write_case_table > "
      "tests/onnx/CASES.md`; a test compares. A case counts for every\n"
      "operator in its model. What is not skipped passes, by "
      "`//tests/onnx:evaluator_test` or, up to opset 17 and in the\n"
      "newest suite, on the real path by `//tests/onnx:session_test`.\n";
  page += Section("Debian's suite, up to opset 17",
                  MakeTable("onnx", kDebianRoot, FindCases(kDebianRoot)));
  page += Section("The wheel's suite, opsets 18 to 21",
                  MakeTable("onnx-1.16", NewerRoot(), NewerCases()));
  page +=
      Section("The newest wheel's suite, up to opset 28",
              MakeTable("onnx-1.23", NewestRoot(), FindCases(NewestRoot())));
  return page;
}

}  // namespace encore::tests
