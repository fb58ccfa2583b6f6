// From ONNX's tensors and element types to literals and dtypes.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_TENSOR_DATA_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_TENSOR_DATA_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// The dtype of TensorProto.data_type; InvalidArgument for a number that ONNX
// does not define, Unimplemented for one that Encore has no dtype for.
StatusOr<DType> DTypeOf(int32_t data_type);
// The number's name for a dtype; kUndefined where ONNX has none.
ElementType ElementTypeOf(DType dtype);

// The bytes of raw_data as a literal, which maps them, but for elements of six
// bits: those lie four in three bytes, and are copied. `owner` keeps `bytes`
// alive. InvalidArgument where there are more or fewer than dims say.
StatusOr<Literal> FromRawData(DType dtype, std::vector<int64_t> dims,
                              std::span<const std::byte> bytes,
                              std::shared_ptr<const void> owner);
// What raw_data has for a tensor. REQUIRES one of numbers.
std::string ToRawData(const Literal& literal);

// Where tensor data lies: the model's own bytes, and the folders that external
// data is looked for and must stay in (none: external data is an error).
struct DataSource {
  std::shared_ptr<const void> owner;
  std::vector<std::string> folders = {};
  // What was read before: each file of external data, by its location, is
  // mapped once, each sparse tensor made dense once. May be null.
  struct Known {
    std::map<std::string, std::shared_ptr<const MappedFile>> files;
    std::map<const SparseLayout*, Literal> dense;
    // Bytes of sparse tensors, with their zeros and as they are stored.
    int64_t dense_bytes = 0, stored_bytes = 0;
  };
  std::shared_ptr<Known> known = {};
};

// The tensor as a literal: raw and external data are mapped, typed fields are
// copied, sparse tensors made dense. InvalidArgument, naming the tensor, where
// dims and data disagree, a dim is negative, or external data is missing, too
// short or outside the model's folders; Unimplemented where sparse tensors come
// to more than 64 MiB and 64 times what is stored of them.
StatusOr<Literal> ToLiteral(const Tensor& tensor, const DataSource& source);

// The value in a file that holds a TensorProto, SequenceProto or OptionalProto
// (test data's input_0.pb), whichever `type` says; errors as above. `source`
// owns `bytes`.
StatusOr<Literal> ToValue(std::span<const std::byte> bytes, const Type& type,
                          const DataSource& source);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_TENSOR_DATA_H_
