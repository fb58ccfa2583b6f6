#include "encore/ir/import/onnx/format/read_tensor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"

namespace encore::onnx {

Status Read(Wire wire, std::pair<std::string_view, std::string_view>* entry) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.GetText(&entry->first);
        break;
      case 2:
        wire.GetText(&entry->second);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, Tensor* tensor) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.Append(&tensor->dims);
        break;
      case 2:
        wire.Get(&tensor->data_type);
        break;
      case 3:
        tensor->is_segment = true;
        break;
      case 4:
        wire.Append(&tensor->float_data);
        break;
      case 5:
        wire.Append(&tensor->int32_data);
        break;
      case 6:
        wire.Append(&tensor->string_data);
        break;
      case 7:
        wire.Append(&tensor->int64_data);
        break;
      case 8:
        wire.GetText(&tensor->name);
        break;
      case 9:
        wire.Get(&tensor->raw_data);
        tensor->has_raw_data = true;
        break;
      case 10:
        wire.Append(&tensor->double_data);
        break;
      case 11:
        wire.Append(&tensor->uint64_data);
        break;
      case 13:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &tensor->external_data.emplace_back()));
        break;
      case 14: {
        int64_t location = 0;
        wire.Get(&location);
        tensor->is_external = location == 1;
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
      case 1:
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), tensor));
        break;
      case 2:
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &layout->indices));
        break;
      case 3:
        wire.Append(&dims);
        break;
    }
  }
  layout->value_dims = std::exchange(tensor->dims, std::move(dims));
  tensor->sparse = std::move(layout);
  return wire.status();
}

}  // namespace encore::onnx
