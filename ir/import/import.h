// Import: a model file as a graph.
//
// The formats are listed in import.cc, one line each. A model that is not
// valid gives InvalidArgument or Unimplemented with the node, the operator and,
// where one is at fault, the attribute; time and memory are bounded by the
// file's size. Weights stay in the mapped file, which the graph's literals keep
// alive.
#ifndef ENCORE_IR_IMPORT_IMPORT_H_
#define ENCORE_IR_IMPORT_IMPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

struct ImportOptions {
  // Values of symbolic dims, by the name that the graph gives the symbol.
  std::map<std::string, int64_t> bindings;
  // Extents of inputs, by input: they bind the symbols of the input's declared
  // shape. InvalidArgument where they contradict it. Of a sequence or optional,
  // those of its tensors, -1 where they differ.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // The same by position, for inputs that are not named there.
  std::vector<std::optional<std::vector<int64_t>>> positional_shapes;
  // Inputs whose values are known: they are constants of the graph and no
  // inputs of it. For models whose shapes depend on them.
  std::map<std::string, Literal> constants;
  // Whether what is only warned of otherwise is an error.
  bool strict = false;
  // Where warnings are added, a sentence each; null: nowhere.
  std::vector<std::string>* warnings = nullptr;
};

// A graph, and the files that its literals may lie in: the model's own and
// those of external data, each as it was when it was mapped.
struct ImportedModel {
  Graph graph;
  MappedFiles files;
};

// The model at `path`, in the format that its name or first bytes say. External
// data is looked for beside the path; where that is a link and they are not
// there, beside the file that it leads to. They lie, with links followed, in
// one of these two folders. All its files are as they were at one moment: where
// one was replaced or written to meanwhile, all are read again, three times at
// most (FailedPrecondition).
StatusOr<ImportedModel> ImportModel(const std::string& path,
                                    const ImportOptions& options = {});
// Its graph alone.
StatusOr<Graph> ImportFile(const std::string& path,
                           const ImportOptions& options = {});

// What the model's author wrote beside the graph, by key: a text each (labels,
// an alphabet, a licence). Empty where the format or the model has none. Reads
// no graph; errors as above.
StatusOr<std::map<std::string, std::string>> ReadModelMetadata(
    const std::string& path);

// What kinds of values a model's inputs, weights excepted, and its outputs are.
// Of sequences, optionals and maps the dtype counts too; shapes do not.
struct ModelTypes {
  enum class Map : uint8_t { kNone, kMap, kSequence };
  struct Value {
    std::string name;
    TensorType type;  // of a map or a sequence of maps that of its values
    // What the graph calls it: NAME, or NAME.keys and NAME.values.
    std::vector<std::string> parts;
    Map map = Map::kNone;
    DType keys = DType::kI64;  // of maps
  };
  std::vector<Value> inputs, outputs;
};

// Converts no node; errors as above.
StatusOr<ModelTypes> ReadModelTypes(const std::string& path);

// The files that ImportFile reads: `path`, then those of external data, each
// once, which need not be there. Converts no node; errors as above.
StatusOr<std::vector<std::string>> ReadModelFiles(const std::string& path);

}  // namespace encore

#endif  // ENCORE_IR_IMPORT_IMPORT_H_
