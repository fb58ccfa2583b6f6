// Maps in files of their own (test data's input_0.pb), as tensors.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_MAP_DATA_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_MAP_DATA_H_

#include <cstddef>
#include <span>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// A map as split_maps.h has it, with its keys in ascending order.
struct MapData {
  Literal keys;    // [n], of int64 or strings
  Literal values;  // [n]; of a sequence of maps [maps, n]
};

// The map in a MapProto or, where `type` is a sequence of maps, the maps in a
// SequenceProto. InvalidArgument where keys and values are not as many, a key
// is there twice, a value has more than one element, keys or values are of
// other types than `type` says, or maps of a sequence have different keys.
// `source` owns `bytes`. REQUIRES a type of kind kMap or kMapSequence.
StatusOr<MapData> ToMap(std::span<const std::byte> bytes, const Type& type,
                        const DataSource& source);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_MAP_DATA_H_
