// Values in ONNX's own files: a TensorProto, SequenceProto, OptionalProto or
// MapProto, as in its test data (input_0.pb). The bytes do not say which of
// these, so a reader has to know. A SparseTensorProto is read, with its zeros,
// wherever a TensorProto is.
#ifndef ENCORE_TOOLS_IO_ONNX_VALUE_H_
#define ENCORE_TOOLS_IO_ONNX_VALUE_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/import.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::tools {

// The value in a .pb file. Of `type` the kind counts and, where the kind is not
// kNone, the dtype of the tensors in it. Errors name the path and what is wrong
// with it.
StatusOr<Literal> ReadOnnxValue(const std::string& path,
                                const TensorType& type);

// The value in a .pb file that is for `value`, an input or output of a model: a
// literal for each of its parts, so of a map, a MapProto or a SequenceProto of
// them, its keys and its values. Errors as above.
StatusOr<std::vector<Literal>> ReadModelValue(const std::string& path,
                                              const ModelTypes::Value& value);

// Writes a value of any kind, whole or not at all. Unimplemented for a dtype
// that ONNX has no number for, and for files of 2 GiB and more, which protobuf
// cannot read.
Status WriteOnnxValue(const std::string& path, const std::string& name,
                      const Literal& value);

// Writes values by name, those of a call's outputs: into the folder `path`,
// where it is one or ends with '/', as output_0.pb, output_1.pb, …; where it
// ends with .pb, the one value that there is (InvalidArgument for several);
// else into an .npz file, which holds tensors of numbers only: Unimplemented
// for others. Keys and values that `outputs`, what the model says of its
// outputs, has as one map, are one value of a .pb: a MapProto or a
// SequenceProto of them.
Status SaveValues(const std::string& path,
                  std::span<const std::pair<std::string, Literal>> values,
                  std::span<const ModelTypes::Value> outputs = {});

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_ONNX_VALUE_H_
