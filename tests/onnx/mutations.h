// Bad models, made from good ones: each attribute dropped, retyped, given twice
// or out of range, inputs and outputs too many, too few, or of other types and
// shapes, broken graphs, broken bytes.
//
// Which attributes and types an operator has is the standard's own table
// (encore/ir/import/onnx/format/schema.h), so that every operator a corpus has
// is covered by construction. Deterministic: the same corpus gives the same
// mutations in the same order.
#ifndef ENCORE_TESTS_ONNX_MUTATIONS_H_
#define ENCORE_TESTS_ONNX_MUTATIONS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/tests/onnx/corpus.h"

namespace encore::tests {

// What a message about a mutation has to name: all of these that are not empty.
// Where all are, the bytes themselves are at fault, and it has to say at which
// byte of the file.
struct Fault {
  std::string node = {};       // a node's title, or a part of it
  std::string attribute = {};  // a node's
  std::string value = {};  // an input's, output's, initializer's or function's
  std::string field = {};  // of the model, as messages call it: "ir_version"
};

struct Mutation {
  // "Softmax-13/axis/retyped".
  std::string name;
  std::string bytes;
  Fault fault;
  // The rule of the standard that it breaks. Empty: it counts only where
  // another judge, onnx's checker, refuses it.
  std::string rule;
  // The model before it was mutated: where the judge refuses that too, it says
  // nothing of the mutation. Empty: a good one.
  std::string base = {};
  // Without a rule, what was changed may be right by itself and wrong for a
  // node that depends on it: a message may then name one of these instead.
  std::vector<std::string> reached = {};
};

// Takes mutations as they are made.
using Sink = std::function<void(Mutation mutation)>;

// Mutations of single nodes: every version of every operator in the corpus.
void MutateNodes(const std::vector<Sample>& corpus, const Sink& sink);

// Mutations of graphs and subgraphs, and of the bytes themselves.
void MutateModels(const std::vector<Sample>& corpus, const Sink& sink);

// Mutations of initializers, sparse ones too, of external data, and of tensors
// in attributes.
void MutateData(const Sink& sink);

// Mutations of functions and their calls.
void MutateFunctions(const Sink& sink);

// Of a sample for each operator that a model of the corpus begins with: names,
// versions, inputs, and bytes.
void MutateSamples(const std::vector<Sample>& corpus, const Sink& sink);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_MUTATIONS_H_
