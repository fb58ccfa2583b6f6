// Maps as tensors.
//
// A value that is a map, NAME, becomes two tensors: NAME.keys, i64 or strings
// [n], and NAME.values [n]. A sequence of maps, which all have the same keys,
// becomes NAME.keys [n] and NAME.values [maps, n]. What reads a map then has
// two inputs in place of one, what gives it two outputs: those are the forms
// that the converters of CastMap, DictVectorizer and ZipMap know. The graph's
// inputs and outputs are split likewise.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_SPLIT_MAPS_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_SPLIT_MAPS_H_

#include <deque>
#include <string>
#include <string_view>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// What the tensors of the map `name` are called.
std::string KeysOf(std::string_view name);
std::string ValuesOf(std::string_view name);

// Splits the maps of a model that CheckModel passed and whose functions are
// inlined; names that this makes are kept in `names`, which outlives the model.
// InvalidArgument, naming the node or value, where a map is read by an operator
// that does not take it, is declared as something else, or leaves a subgraph.
// Cost: O(model), and nothing where there are no maps.
Status SplitMaps(Model* model, std::deque<std::string>* names);

// Whether the inputs of a node are those of a map that was split, whose types
// were checked then.
bool ReadsSplitMap(const Node& node);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_SPLIT_MAPS_H_
