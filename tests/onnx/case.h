// A case of ONNX's own test data: a folder with model.onnx and test_data_set_N
// folders of input_I.pb and output_I.pb.
#ifndef ENCORE_TESTS_ONNX_CASE_H_
#define ENCORE_TESTS_ONNX_CASE_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::tests {

// Where Debian's package puts its cases.
inline constexpr char kDebianRoot[] = "/usr/share/libonnx-testdata/data";

// Debian's data stop at opset 17; a wheel of onnx has those of later ones.
std::string NewerRoot();
std::vector<std::string> NewerCases();

// Where the set-up puts the cases of the newest onnx, all of them nodes.
std::string NewestRoot();

// Every case below `root`, "node/test_abs", sorted.
std::vector<std::string> FindCases(const std::string& root);

// A case's name for GoogleTest: "node_test_abs".
std::string CaseTestName(const testing::TestParamInfo<std::string>& info);

// Runs a graph on arguments by position, parameters excluded.
using Execute = std::function<StatusOr<std::vector<Literal>>(
    const Graph& graph, std::span<const Literal> inputs)>;

// Imports the case in `folder` and compares what `execute` gives with the
// expected outputs of every data set: dtypes and shapes exactly, floats within
// rtol 1e-3 and atol 1e-7 as ONNX's own runner does. The error says what
// differs.
Status RunCase(const std::string& folder, const Execute& execute);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_CASE_H_
