// Where the inputs of a run come from: files that the user named, an ONNX test
// data set, or a generator.
#ifndef ENCORE_TOOLS_RUN_INPUTS_H_
#define ENCORE_TOOLS_RUN_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/tools/command_files.h"

namespace encore::tools {

// Tensors by the name of an input or output.
using NamedTensors = std::map<std::string, Literal>;

struct GivenTensors {
  NamedTensors inputs;
  NamedTensors expected;
  // Of a data set, which knows positions only.
  std::vector<Literal> positional_inputs, positional_expected;
  // By input, the output of the call before that it is; `inputs` has another
  // value of its type.
  std::map<std::string, std::string> carried;
  // Whether tensors of another dtype than the model's are converted.
  bool convert = false;
};

// The same values in another dtype, rounded where need be. Where one of both is
// strings, the tensor as it is.
Literal Convert(const Literal& literal, DType dtype);

// Where tensors are given: --input (NAME=FILE or FILE.npz), --data and
// --expect.
struct GivenFiles {
  std::vector<std::string> inputs;
  std::string data, expect;
};

// Adds the files that ReadGivenTensors reads.
void AddGivenFiles(const GivenFiles& given, CommandFiles* files);

// Reads them, for the model at that path: it says which .pb files have
// sequences, optionals or maps; a map is given as two tensors, its parts.
// Errors name the flag's value and what is wrong with it.
StatusOr<GivenTensors> ReadGivenTensors(const GivenFiles& files,
                                        const std::string& model);

// Extents for an import: a tensor's; of the tensors in a sequence or optional
// those that all have, -1 for others; nothing where there are none or their
// ranks differ.
std::optional<std::vector<int64_t>> ExtentsOf(const Literal& value);

// InvalidArgument where a tensor is given for an input or output that the graph
// does not have.
Status CheckGiven(const Graph& graph, const GivenTensors& given);

// Literals for the graph's inputs in order: those given, by name or position,
// and generated ones for the rest. InvalidArgument where a given one does not
// fit, or names no input of the graph.
StatusOr<std::vector<Literal>> MakeInputs(const Graph& graph,
                                          const GivenTensors& given,
                                          uint64_t seed);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_INPUTS_H_
