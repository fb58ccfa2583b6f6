// Cases of one operator each, as make_cases.py writes them.
#ifndef ENCORE_TESTS_ONNX_MICROSOFT_OPERATOR_CASE_H_
#define ENCORE_TESTS_ONNX_MICROSOFT_OPERATOR_CASE_H_

#include <optional>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/literal_compare.h"

namespace encore::tests {

struct CaseInput {
  Literal value;
  // The extents, or names of symbolic ones.
  std::vector<std::string> dims;
};

struct OperatorCase {
  // What its attributes are, for messages.
  std::string title;
  Tolerance tolerance;
  // AttributeProto messages.
  std::vector<std::string> attributes;
  // Nothing where one is left out.
  std::vector<std::optional<CaseInput>> inputs;
  std::vector<std::optional<Literal>> outputs;

  bool is_symbolic() const;
  // The values of those that are there.
  std::vector<Literal> arguments() const;
};

// The cases in the file. InvalidArgument where a line makes no sense.
StatusOr<std::vector<OperatorCase>> ReadOperatorCases(const std::string& path);

// A model (ModelProto) with the operator as its one node; every input is an
// input of the graph. `symbolic`: named extents are symbols.
std::string ModelOf(const OperatorCase& operator_case,
                    const std::string& domain, const std::string& op_type,
                    bool symbolic);

// The graph of that model.
StatusOr<Graph> ImportCase(const OperatorCase& operator_case,
                           const std::string& domain,
                           const std::string& op_type, bool symbolic);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_MICROSOFT_OPERATOR_CASE_H_
