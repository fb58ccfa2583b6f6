#include "encore/ir/import/onnx/facts.h"

#include <set>
#include <string_view>
#include <utility>

#include "encore/ir/import/onnx/format/external_files.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/split_maps.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/scope/declared.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

StatusOr<DType> ElementOf(const ValueInfo& info, int32_t data_type) {
  const StatusOr<DType> dtype = DTypeOf(data_type);
  if (dtype.ok()) return dtype;
  return Annotate(dtype.status(), StrCat("value ", Quote(info.name)));
}

StatusOr<ModelTypes::Value> TypeOf(const ValueInfo& info) {
  using Kind = Type::Kind;
  const std::string name(info.name);
  ModelTypes::Value value{name, {DType::kF32, Shape()}, {name}};
  switch (info.type.kind) {
    case Kind::kNone:
    case Kind::kTensor:
      return value;
    case Kind::kMap:
    case Kind::kMapSequence: {
      value.map = info.type.kind == Kind::kMap ? ModelTypes::Map::kMap
                                               : ModelTypes::Map::kSequence;
      ENCORE_ASSIGN_OR_RETURN(value.type.dtype,
                              ElementOf(info, info.type.element_type));
      ENCORE_ASSIGN_OR_RETURN(value.keys, ElementOf(info, info.type.key_type));
      value.parts = {KeysOf(name), ValuesOf(name)};
      return value;
    }
    default: {
      ENCORE_ASSIGN_OR_RETURN(value.type, TypeWithoutShape(info));
      return value;
    }
  }
}

}  // namespace

StatusOr<std::map<std::string, std::string>> Metadata(
    std::span<const std::byte> bytes) {
  ENCORE_ASSIGN_OR_RETURN(const auto entries, ReadMetadata(bytes));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : entries) {
    metadata.insert_or_assign(std::string(key), std::string(value));
  }
  return metadata;
}

StatusOr<std::vector<std::string>> DataFiles(
    std::span<const std::byte> bytes, const std::vector<std::string>& folders) {
  ENCORE_ASSIGN_OR_RETURN(const Model model, ReadModel(bytes));
  return ExternalFiles(model, folders);
}

StatusOr<ModelTypes> Types(std::span<const std::byte> bytes) {
  ENCORE_ASSIGN_OR_RETURN(const Model model, ReadModel(bytes));
  std::set<std::string_view> weights;
  for (const Tensor& tensor : model.graph.initializers) {
    weights.insert(tensor.name);
  }
  ModelTypes types;
  for (const ValueInfo& input : model.graph.inputs) {
    if (weights.contains(input.name)) continue;
    ENCORE_ASSIGN_OR_RETURN(types.inputs.emplace_back(), TypeOf(input));
  }
  for (const ValueInfo& output : model.graph.outputs) {
    ENCORE_ASSIGN_OR_RETURN(types.outputs.emplace_back(), TypeOf(output));
  }
  return types;
}

}  // namespace encore::onnx
