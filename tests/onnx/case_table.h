// The table of ONNX's cases by operator: how many pass, how many are skipped
// and why.
#ifndef ENCORE_TESTS_ONNX_CASE_TABLE_H_
#define ENCORE_TESTS_ONNX_CASE_TABLE_H_

#include <string>

namespace encore::tests {

// The page CASES.md. A case counts for every operator in its model, those of
// subgraphs too; it passes unless tests/skips.txt, which must be there, lists
// it: the tests of the cases fail where that is not so.
std::string CaseTableMarkdown();

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_CASE_TABLE_H_
