// Bad models, made from good ones: each attribute dropped, retyped, given twice
// or out of range, inputs and outputs too many, too few, or of other types and
// shapes, broken graphs, broken bytes.
//
// Which attributes and types an operator has is the standard's own table
// (encore/ir/import/onnx/schema.h), so that every operator a corpus has is
// covered by construction. Deterministic: the same corpus gives the same
// mutations in the same order.
#ifndef ENCORE_TESTS_ONNX_MUTATIONS_H_
#define ENCORE_TESTS_ONNX_MUTATIONS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/onnx.pb.h"

namespace encore::tests {

// What every mutated node is called, so that a message can be seen to name it.
inline constexpr char kNodeName[] = "the_mutated_node";

struct Mutation {
  // "Softmax-13/axis/retyped".
  std::string name;
  std::string bytes;
  // What a message has to name; empty where no node or attribute is at fault.
  std::string node, attribute;
  // The rule of the standard that it breaks. Empty: it counts only where
  // another judge, onnx's checker, refuses it.
  std::string rule;
};

// Takes mutations as they are made.
using Sink = std::function<void(Mutation mutation)>;

// A model of the corpus.
struct Sample {
  std::string name;
  ::onnx::ModelProto model;
};

// The good models below `roots` that are small enough to be mutated often, in
// the order of their names.
std::vector<Sample> ReadCorpus(const std::vector<std::string>& roots);

// Mutations of single nodes: every version of every operator in the corpus.
void MutateNodes(const std::vector<Sample>& corpus, const Sink& sink);

// Mutations of graphs, subgraphs, initializers and of the bytes themselves.
void MutateModels(const std::vector<Sample>& corpus, const Sink& sink);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_MUTATIONS_H_
