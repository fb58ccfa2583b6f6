// Values in ONNX's own files: a TensorProto, SequenceProto or OptionalProto, as
// in its test data (input_0.pb). The bytes do not say which of the three, so a
// reader has to know.
#ifndef ENCORE_TOOLS_IO_ONNX_VALUE_H_
#define ENCORE_TOOLS_IO_ONNX_VALUE_H_

#include <span>
#include <string>
#include <utility>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::tools {

// The value in a .pb file. Of `type` the kind counts and, where the kind is not
// kNone, the dtype of the tensors in it. Errors name the path and what is wrong
// with it.
StatusOr<Literal> ReadOnnxValue(const std::string& path,
                                const TensorType& type);

// Writes a value of any kind, whole or not at all. Unimplemented for a dtype
// that ONNX has no number for, and for files of 2 GiB and more, which protobuf
// cannot read.
Status WriteOnnxValue(const std::string& path, const std::string& name,
                      const Literal& value);

// Writes values by name: into the folder `path`, where it is one or ends with
// '/', as output_0.pb, output_1.pb, …; else into an .npz file, which holds
// tensors of numbers only: Unimplemented for others.
Status SaveValues(const std::string& path,
                  std::span<const std::pair<std::string, Literal>> values);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_ONNX_VALUE_H_
