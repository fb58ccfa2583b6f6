#include "encore/tests/onnx/microsoft/operator_case.h"

#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::tests {
namespace {

// "f32 B=2 3 : 1 2 …".
StatusOr<CaseInput> ReadTensor(std::istream& in) {
  std::string word;
  in >> word;
  const auto dtype = ParseDType(word);
  if (!dtype) return InvalidArgumentError(StrCat("no dtype: ", word));
  CaseInput tensor;
  std::vector<int64_t> extents;
  while (in >> word && word != ":") {
    const size_t equals = word.find('=');
    tensor.dims.push_back(word.substr(0, equals));
    extents.push_back(std::stoll(
        equals == std::string::npos ? word : word.substr(equals + 1)));
  }
  Literal literal(*dtype, extents);
  for (int64_t i = 0; in >> word; ++i) {
    if (i >= literal.element_count()) {
      return InvalidArgumentError("more values than elements");
    }
    if (IsFloat(*dtype)) {
      literal.SetDouble(i, std::stod(word));
    } else {
      literal.SetInt(i, std::stoll(word));
    }
  }
  tensor.value = std::move(literal);
  return tensor;
}

// "NAME TYPE VALUES".
std::string ReadAttribute(std::istream& in) {
  std::string name, type, word;
  in >> name >> type;
  onnx::Proto attribute;
  attribute.Bytes(1, name);
  while (in >> word) {
    if (type == "int") attribute.Int(3, std::stoll(word));
    if (type == "ints") attribute.Int(8, std::stoll(word));
    if (type == "float") attribute.Float(2, std::stof(word));
    if (type == "floats") attribute.Float(7, std::stof(word));
    if (type == "string") attribute.Bytes(4, word);
    if (type == "strings") attribute.Bytes(9, word);
  }
  const int number = type == "float"    ? 1
                     : type == "int"    ? 2
                     : type == "string" ? 3
                     : type == "floats" ? 6
                     : type == "ints"   ? 7
                                        : 8;
  return attribute.Int(20, number).bytes();
}

Status ReadLine(const std::string& line, std::vector<OperatorCase>* cases) {
  std::istringstream in(line);
  std::string word;
  in >> word;
  if (word == "#") return OkStatus();
  if (word == "case") {
    OperatorCase& added = cases->emplace_back();
    in >> added.tolerance.absolute >> added.tolerance.relative;
    return OkStatus();
  }
  if (cases->empty()) return InvalidArgumentError(line);
  OperatorCase& last = cases->back();
  if (word == "attribute") {
    last.title += line.substr(word.size());
    last.attributes.push_back(ReadAttribute(in));
    return OkStatus();
  }
  const bool left_out = line == word + " -";
  CaseInput tensor;
  if (!left_out) {
    ENCORE_ASSIGN_OR_RETURN(tensor, ReadTensor(in));
  }
  if (word == "input") {
    last.inputs.push_back(left_out ? std::nullopt : std::optional(tensor));
  } else {
    last.outputs.push_back(left_out ? std::nullopt
                                    : std::optional(tensor.value));
  }
  return OkStatus();
}

}  // namespace

bool OperatorCase::is_symbolic() const {
  for (const auto& input : inputs) {
    if (!input) continue;
    for (const std::string& dim : input->dims) {
      if (dim[0] < '0' || dim[0] > '9') return true;
    }
  }
  return false;
}

std::vector<Literal> OperatorCase::arguments() const {
  std::vector<Literal> values;
  for (const auto& input : inputs) {
    if (input) values.push_back(input->value);
  }
  return values;
}

StatusOr<std::vector<OperatorCase>> ReadOperatorCases(const std::string& path) {
  std::ifstream file(path);
  std::vector<OperatorCase> cases;
  std::string line;
  while (std::getline(file, line)) {
    ENCORE_RETURN_IF_ERROR(ReadLine(line, &cases));
  }
  return cases;
}

std::string ModelOf(const OperatorCase& operator_case,
                    const std::string& domain, const std::string& op_type,
                    bool symbolic) {
  onnx::Proto node, graph;
  for (size_t i = 0; i < operator_case.inputs.size(); ++i) {
    const auto& input = operator_case.inputs[i];
    node.Bytes(1, input ? StrCat("i", i) : "");
    if (!input) continue;
    std::vector<std::string> dims = input->dims;
    for (size_t d = 0; d < dims.size() && !symbolic; ++d) {
      dims[d] = StrCat(input->value.dims()[d]);
    }
    const auto type = onnx::ElementTypeOf(input->value.dtype());
    graph.Sub(11,
              onnx::TensorInput(StrCat("i", i), dims, static_cast<int>(type)));
  }
  for (size_t i = 0; i < operator_case.outputs.size(); ++i) {
    const bool wanted = operator_case.outputs[i].has_value();
    node.Bytes(2, wanted ? StrCat("o", i) : "");
    if (wanted) graph.Sub(12, onnx::Proto().Bytes(1, StrCat("o", i)));
  }
  node.Bytes(3, op_type + "_node").Bytes(4, op_type).Bytes(7, domain);
  for (const std::string& attribute : operator_case.attributes) {
    node.Bytes(5, attribute);
  }
  graph.Sub(1, node).Bytes(2, "g");
  onnx::Proto model;
  model.Int(1, 9).Sub(8, onnx::Proto().Bytes(1, "").Int(2, 20));
  model.Sub(8, onnx::Proto().Bytes(1, "com.microsoft").Int(2, 1));
  return model.Sub(7, graph).bytes();
}

StatusOr<Graph> ImportCase(const OperatorCase& operator_case,
                           const std::string& domain,
                           const std::string& op_type, bool symbolic) {
  const auto bytes = std::make_shared<const std::string>(
      ModelOf(operator_case, domain, op_type, symbolic));
  return onnx::Import(std::as_bytes(std::span(*bytes)), bytes, {}, {});
}

}  // namespace encore::tests
