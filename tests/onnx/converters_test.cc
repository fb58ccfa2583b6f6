// The converters' column `op` against what ONNX's cases become.

#include <map>
#include <set>
#include <string>

#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/tests/onnx/case.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

constexpr char kRoot[] = "/usr/share/libonnx-testdata/data";

// The operator of a model of one node; empty for others.
std::string OnlyOperator(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return "";
  const auto model = onnx::ReadModel((*file)->bytes());
  if (!model.ok() || model->graph.nodes.size() != 1) return "";
  return std::string(model->graph.nodes[0].op_type);
}

TEST(Converters, NameTheOpThatTheirNodesBecome) {
  std::map<std::string, std::set<Op>> seen;
  for (const std::string& name : FindCases(kRoot)) {
    const std::string path = std::string(kRoot) + "/" + name + "/model.onnx";
    const std::string op_type = OnlyOperator(path);
    if (op_type.empty()) continue;
    const auto graph = ImportFile(path, {});
    if (!graph.ok()) continue;
    for (const NodeId node : Nodes(*graph)) {
      seen[op_type].insert(graph->op(node));
    }
  }
  EXPECT_GE(seen.size(), 100u);
  for (const auto& [op_type, ops] : seen) {
    const onnx::Converter* converter = onnx::FindConverter(op_type);
    if (converter == nullptr) continue;            // a function of ONNX's
    if (converter->op == Op::kConstant) continue;  // or a weight
    if (converter->op) {
      EXPECT_TRUE(ops.contains(*converter->op))
          << op_type << " does not become " << *converter->op;
    } else {
      EXPECT_TRUE(op_type == "Identity" || op_type == "Dropout")
          << op_type << ": name its op in the converter's row";
    }
  }
}

}  // namespace
}  // namespace encore::tests
