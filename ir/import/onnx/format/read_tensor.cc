#include "encore/ir/import/onnx/format/read_tensor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/wire_fields.h"
#include "encore/ir/support/status_macros.h"

namespace encore::onnx {
namespace {

// Of TensorProto.DataLocation.
constexpr int64_t kExternal = 1;

}  // namespace

Status Read(Wire wire, std::pair<std::string_view, std::string_view>* entry) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::StringStringEntry::kKey:
        wire.GetText(&entry->first);
        break;
      case fields::StringStringEntry::kValue:
        wire.GetText(&entry->second);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, Tensor* tensor) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Tensor::kDims:
        wire.Append(&tensor->dims);
        break;
      case fields::Tensor::kDataType:
        wire.Get(&tensor->data_type);
        break;
      case fields::Tensor::kSegment:
        tensor->is_segment = true;
        break;
      case fields::Tensor::kFloatData:
        wire.Append(&tensor->float_data);
        break;
      case fields::Tensor::kInt32Data:
        wire.Append(&tensor->int32_data);
        break;
      case fields::Tensor::kStringData:
        wire.Append(&tensor->string_data);
        break;
      case fields::Tensor::kInt64Data:
        wire.Append(&tensor->int64_data);
        break;
      case fields::Tensor::kName:
        wire.GetText(&tensor->name);
        break;
      case fields::Tensor::kRawData:
        wire.Get(&tensor->raw_data);
        tensor->has_raw_data = true;
        break;
      case fields::Tensor::kDoubleData:
        wire.Append(&tensor->double_data);
        break;
      case fields::Tensor::kUint64Data:
        wire.Append(&tensor->uint64_data);
        break;
      case fields::Tensor::kExternalData:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &tensor->external_data.emplace_back()));
        break;
      case fields::Tensor::kDataLocation: {
        int64_t location = 0;
        wire.Get(&location);
        tensor->is_external = location == kExternal;
        break;
      }
    }
  }
  return wire.status();
}

Status ReadSparse(Wire wire, Tensor* tensor) {
  auto layout = std::make_shared<SparseLayout>();
  std::vector<int64_t> dims;
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::SparseTensor::kValues:
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), tensor));
        break;
      case fields::SparseTensor::kIndices:
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &layout->indices));
        break;
      case fields::SparseTensor::kDims:
        wire.Append(&dims);
        break;
    }
  }
  layout->value_dims = std::exchange(tensor->dims, std::move(dims));
  tensor->sparse = std::move(layout);
  return wire.status();
}

bool IsSparse(Wire wire) {
  while (wire.Next()) {
    if (wire.field() == fields::SparseTensor::kIndices) {
      return wire.is_bytes();
    }
  }
  return false;
}

}  // namespace encore::onnx
