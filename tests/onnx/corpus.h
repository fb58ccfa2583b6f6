// The good models that bad ones are made from.
#ifndef ENCORE_TESTS_ONNX_CORPUS_H_
#define ENCORE_TESTS_ONNX_CORPUS_H_

#include <string>
#include <vector>

#include "onnx/onnx.pb.h"

namespace encore::tests {

// A model of the corpus.
struct Sample {
  std::string name;
  ::onnx::ModelProto model;
};

// The good models below `roots` that are small enough to be mutated often, in
// the order of their names; and, where a root has files OPERATOR.txt of cases
// of com.microsoft (microsoft/operator_case.h), a model of each case.
std::vector<Sample> ReadCorpus(const std::vector<std::string>& roots);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_CORPUS_H_
