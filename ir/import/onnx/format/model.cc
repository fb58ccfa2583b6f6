#include "encore/ir/import/onnx/format/model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "encore/ir/import/onnx/format/read_tensor.h"
#include "encore/ir/import/onnx/format/read_type.h"
#include "encore/ir/import/onnx/format/wire.h"
#include "encore/ir/import/onnx/format/wire_fields.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Readers of one message each: they take fields by number and skip those they
// do not know. `depth` counts graphs.

Status Read(Wire wire, int depth, Attribute* attribute);
Status Read(Wire wire, int depth, Node* node);
Status Read(Wire wire, int depth, Graph* graph);
Status Read(Wire wire, Function* function);
Status Read(Wire wire, ValueInfo* info);

// Readers for ReadNamed: of messages in which graphs may be, and of others.
auto Nested(int depth) {
  return [depth](Wire wire, auto* message) {
    return Read(std::move(wire), depth, message);
  };
}
constexpr auto Flat = [](Wire wire, auto* message) {
  return Read(std::move(wire), message);
};

// For messages without a name: the field that no message has.
constexpr int kNoName = 0;

// Appends a message; errors, those of what is in it too, name it, by its number
// where it has no name. The name, field `name`, may come after what is broken.
template <typename Named, typename Reader>
Status ReadNamed(Wire wire, int name, std::string_view what,
                 std::vector<Named>* messages, const Reader& read) {
  const size_t position = messages->size();
  Named& message = messages->emplace_back();
  const Status status = read(wire, &message);
  if (status.ok()) return status;
  while (wire.Next()) {
    if (wire.field() == name) wire.Get(&message.name);
  }
  return Annotate(status, StrCat(what, " ",
                                 message.name.empty() ? StrCat("#", position)
                                                      : Quote(message.name)));
}

// Nodes know their places.
Status ReadNode(Wire wire, int depth, std::vector<Node>* nodes) {
  ENCORE_RETURN_IF_ERROR(
      ReadNamed(wire, fields::Node::kName, "node", nodes, Nested(depth)));
  nodes->back().position = nodes->size() - 1;
  return OkStatus();
}

// Whether a field of AttributeProto holds a value.
bool IsValueField(int field) {
  using Field = fields::Attribute;
  return (field >= Field::kF && field <= Field::kGraphs) ||
         field == Field::kTp || field == Field::kTypeProtos ||
         field == Field::kSparseTensor || field == Field::kSparseTensors;
}

Status Read(Wire wire, int depth, Attribute* attribute) {
  while (wire.Next()) {
    const int field = wire.field();
    if (IsValueField(field)) attribute->values |= uint32_t{1} << field;
    switch (field) {
      case fields::Attribute::kName:
        wire.GetText(&attribute->name);
        break;
      case fields::Attribute::kF:
        wire.Get(&attribute->f);
        break;
      case fields::Attribute::kI:
        wire.Get(&attribute->i);
        break;
      case fields::Attribute::kS:
        wire.Get(&attribute->s);
        break;
      case fields::Attribute::kT:
      case fields::Attribute::kSparseTensor: {
        auto tensor = std::make_shared<Tensor>();
        ENCORE_RETURN_IF_ERROR(field == fields::Attribute::kT
                                   ? Read(wire.Message(), tensor.get())
                                   : ReadSparse(wire.Message(), tensor.get()));
        attribute->t = std::move(tensor);
        break;
      }
      case fields::Attribute::kG: {
        auto graph = std::make_shared<Graph>();
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), depth + 1, graph.get()));
        attribute->g = std::move(graph);
        break;
      }
      case fields::Attribute::kFloats:
        wire.Append(&attribute->floats);
        break;
      case fields::Attribute::kInts:
        wire.Append(&attribute->ints);
        break;
      case fields::Attribute::kStrings:
        wire.Append(&attribute->strings);
        break;
      case fields::Attribute::kTp: {
        auto type = std::make_shared<Type>();
        ENCORE_RETURN_IF_ERROR(ReadType(wire.Message(), type.get()));
        attribute->tp = std::move(type);
        break;
      }
      case fields::Attribute::kType: {
        int32_t type = 0;
        wire.Get(&type);
        attribute->type = static_cast<AttributeType>(type);
        break;
      }
      case fields::Attribute::kRefAttrName:
        wire.GetText(&attribute->ref_attr_name);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, int depth, Node* node) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Node::kInput:
        wire.AppendText(&node->inputs);
        break;
      case fields::Node::kOutput:
        wire.AppendText(&node->outputs);
        break;
      case fields::Node::kName:
        wire.GetText(&node->name);
        break;
      case fields::Node::kOpType:
        wire.GetText(&node->op_type);
        break;
      case fields::Node::kAttribute:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(),
                                         fields::Attribute::kName, "attribute",
                                         &node->attributes, Nested(depth)));
        break;
      case fields::Node::kDomain:
        wire.GetText(&node->domain);
        break;
      case fields::Node::kOverload:
        wire.GetText(&node->overload);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, ValueInfo* info) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::ValueInfo::kName:
        wire.GetText(&info->name);
        break;
      case fields::ValueInfo::kType:
        ENCORE_RETURN_IF_ERROR(ReadType(wire.Message(), &info->type));
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, int depth, Graph* graph) {
  if (depth > kMaxGraphDepth) {
    return InvalidArgumentError(
        StrCat("subgraphs nest deeper than ", kMaxGraphDepth));
  }
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Graph::kNode:
        ENCORE_RETURN_IF_ERROR(ReadNode(wire.Message(), depth, &graph->nodes));
        break;
      case fields::Graph::kName:
        wire.GetText(&graph->name);
        break;
      case fields::Graph::kInitializer:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), fields::Tensor::kName,
                                         "initializer", &graph->initializers,
                                         Flat));
        break;
      case fields::Graph::kInput:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(),
                                         fields::ValueInfo::kName, "input",
                                         &graph->inputs, Flat));
        break;
      case fields::Graph::kOutput:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(),
                                         fields::ValueInfo::kName, "output",
                                         &graph->outputs, Flat));
        break;
      case fields::Graph::kValueInfo:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(),
                                         fields::ValueInfo::kName, "value",
                                         &graph->value_infos, Flat));
        break;
      case fields::Graph::kSparseInitializer:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), kNoName, "initializer",
                                         &graph->initializers, ReadSparse));
        break;
    }
  }
  return Annotate(wire.status(), StrCat("graph ", Quote(graph->name)));
}

Status Read(Wire wire, OpsetImport* opset) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::OperatorSetId::kDomain:
        wire.GetText(&opset->domain);
        break;
      case fields::OperatorSetId::kVersion:
        wire.Get(&opset->version);
        break;
    }
  }
  return Annotate(wire.status(), "opset_import");
}

void Sort(OpsetImports* opsets) {
  for (OpsetImport& opset : *opsets) {
    if (opset.domain == "ai.onnx") opset.domain = "";
  }
  std::sort(opsets->begin(), opsets->end(), [](const auto& a, const auto& b) {
    return std::tie(a.domain, a.version) < std::tie(b.domain, b.version);
  });
}

Status Read(Wire wire, Function* function) {
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Function::kName:
        wire.GetText(&function->name);
        break;
      case fields::Function::kInput:
        wire.AppendText(&function->inputs);
        break;
      case fields::Function::kOutput:
        wire.AppendText(&function->outputs);
        break;
      case fields::Function::kAttribute:
        wire.AppendText(&function->attributes);
        break;
      case fields::Function::kNode:
        ENCORE_RETURN_IF_ERROR(ReadNode(wire.Message(), 0, &function->nodes));
        break;
      case fields::Function::kOpsetImport:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &function->opsets.emplace_back()));
        break;
      case fields::Function::kDomain:
        wire.GetText(&function->domain);
        break;
      case fields::Function::kAttributeProto:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), fields::Attribute::kName, "attribute",
                      &function->attribute_defaults, Nested(0)));
        break;
      case fields::Function::kOverload:
        wire.GetText(&function->overload);
        break;
    }
  }
  Sort(&function->opsets);
  return wire.status();
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

StatusOr<Model> ReadModel(std::span<const std::byte> bytes) {
  Model model;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Model::kIrVersion:
        wire.Get(&model.ir_version);
        break;
      case fields::Model::kProducerName:
        wire.Get(&model.producer);
        break;
      case fields::Model::kGraph:
        model.has_graph = true;
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), 0, &model.graph));
        break;
      case fields::Model::kOpsetImport:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &model.opsets.emplace_back()));
        break;
      case fields::Model::kFunctions:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(),
                                         fields::Function::kName, "function",
                                         &model.functions, Flat));
        break;
      case fields::Model::kTrainingInfo:
        model.has_training_info = true;
        break;
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  Sort(&model.opsets);
  return model;
}

StatusOr<std::vector<std::pair<std::string_view, std::string_view>>>
ReadMetadata(std::span<const std::byte> bytes) {
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    if (wire.field() != fields::Model::kMetadataProps) continue;
    ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &metadata.emplace_back()));
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return metadata;
}

StatusOr<Tensor> ReadTensor(std::span<const std::byte> bytes) {
  Tensor tensor;
  const Wire wire(AsText(bytes));
  ENCORE_RETURN_IF_ERROR(IsSparse(wire) ? ReadSparse(wire, &tensor)
                                        : Read(wire, &tensor));
  return tensor;
}

StatusOr<std::vector<Tensor>> ReadSequence(std::span<const std::byte> bytes) {
  using Field = fields::Sequence;
  std::vector<Tensor> tensors;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    switch (wire.field()) {
      case Field::kTensorValues:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), fields::Tensor::kName,
                                         "tensor", &tensors, Flat));
        break;
      case Field::kSparseTensorValues:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), kNoName, "tensor", &tensors, ReadSparse));
        break;
      case Field::kSequenceValues:
        return UnimplementedError("a sequence of sequences is not supported");
      case Field::kMapValues:
        return UnimplementedError(
            "a sequence of maps is given for a sequence of tensors");
      case Field::kOptionalValues:
        return UnimplementedError("a sequence of optionals is not supported");
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return tensors;
}

StatusOr<std::optional<std::span<const std::byte>>> ReadOptional(
    std::span<const std::byte> bytes) {
  using Field = fields::Optional;
  std::optional<std::span<const std::byte>> value;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    switch (wire.field()) {
      case Field::kTensorValue:
      case Field::kSparseTensorValue:
      case Field::kSequenceValue: {
        std::string_view text;
        wire.Get(&text);
        value = std::as_bytes(std::span(text.data(), text.size()));
        break;
      }
      case Field::kMapValue:
        return UnimplementedError("an optional of a map is not supported");
      case Field::kOptionalValue:
        return UnimplementedError(
            "an optional of an optional is not supported");
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return value;
}

}  // namespace encore::onnx
