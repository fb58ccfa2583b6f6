#include "encore/ir/import/onnx/format/model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "encore/ir/import/onnx/format/read_tensor.h"
#include "encore/ir/import/onnx/format/wire.h"
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
  ENCORE_RETURN_IF_ERROR(ReadNamed(wire, 3, "node", nodes, Nested(depth)));
  nodes->back().position = nodes->size() - 1;
  return OkStatus();
}

Status Read(Wire wire, Dimension* dimension) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1: {
        int64_t value = 0;
        wire.Get(&value);
        dimension->value = value;
        break;
      }
      case 2:
        wire.GetText(&dimension->param);
        break;
    }
  }
  return wire.status();
}

Status ReadShape(Wire wire, std::vector<Dimension>* shape) {
  while (wire.Next()) {
    if (wire.field() != 1) continue;
    ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &shape->emplace_back()));
  }
  return wire.status();
}

Status ReadTensorType(Wire wire, Type* type) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.Get(&type->element_type);
        break;
      case 2:
        type->shape.emplace();
        ENCORE_RETURN_IF_ERROR(ReadShape(wire.Message(), &*type->shape));
        break;
    }
  }
  return wire.status();
}

// A TypeProto in one of kind `outer`; what is inside is read into the same
// struct. Types nest at most three deep.
Status ReadType(Wire wire, Type::Kind outer, Type* type) {
  using Kind = Type::Kind;
  while (wire.Next()) {
    const int field = wire.field();
    if (field == 1) {
      type->kind = outer == Kind::kNone ? Kind::kTensor : outer;
      ENCORE_RETURN_IF_ERROR(ReadTensorType(wire.Message(), type));
      continue;
    }
    const bool sequence = field == 4, optional = field == 9;
    if (!sequence && !optional && field != 5 && field != 8) continue;
    if (optional
            ? outer != Kind::kNone
            : !sequence || (outer != Kind::kNone && outer != Kind::kOptional)) {
      type->kind = Kind::kOther;
      continue;
    }
    const Kind kind = optional               ? Kind::kOptional
                      : outer == Kind::kNone ? Kind::kSequence
                                             : Kind::kOptionalSequence;
    type->kind = kind;
    Wire element = wire.Message();
    while (element.Next()) {
      if (element.field() != 1) continue;
      ENCORE_RETURN_IF_ERROR(ReadType(element.Message(), kind, type));
    }
    ENCORE_RETURN_IF_ERROR(element.status());
  }
  return wire.status();
}

Status ReadType(Wire wire, Type* type) {
  return ReadType(std::move(wire), Type::Kind::kNone, type);
}

// Whether a field of AttributeProto holds a value.
bool IsValueField(int field) {
  return (field >= 2 && field <= 11) || field == 14 || field == 15 ||
         field == 22 || field == 23;
}

Status Read(Wire wire, int depth, Attribute* attribute) {
  while (wire.Next()) {
    const int field = wire.field();
    if (IsValueField(field)) attribute->values |= uint32_t{1} << field;
    switch (field) {
      case 1:
        wire.GetText(&attribute->name);
        break;
      case 2:
        wire.Get(&attribute->f);
        break;
      case 3:
        wire.Get(&attribute->i);
        break;
      case 4:
        wire.Get(&attribute->s);
        break;
      case 5:
      case 22: {
        auto tensor = std::make_shared<Tensor>();
        ENCORE_RETURN_IF_ERROR(field == 5
                                   ? Read(wire.Message(), tensor.get())
                                   : ReadSparse(wire.Message(), tensor.get()));
        attribute->t = std::move(tensor);
        break;
      }
      case 6: {
        auto graph = std::make_shared<Graph>();
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), depth + 1, graph.get()));
        attribute->g = std::move(graph);
        break;
      }
      case 7:
        wire.Append(&attribute->floats);
        break;
      case 8:
        wire.Append(&attribute->ints);
        break;
      case 9:
        wire.Append(&attribute->strings);
        break;
      case 14: {
        auto type = std::make_shared<Type>();
        ENCORE_RETURN_IF_ERROR(ReadType(wire.Message(), type.get()));
        attribute->tp = std::move(type);
        break;
      }
      case 20: {
        int32_t type = 0;
        wire.Get(&type);
        attribute->type = static_cast<AttributeType>(type);
        break;
      }
      case 21:
        wire.GetText(&attribute->ref_attr_name);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, int depth, Node* node) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.AppendText(&node->inputs);
        break;
      case 2:
        wire.AppendText(&node->outputs);
        break;
      case 3:
        wire.GetText(&node->name);
        break;
      case 4:
        wire.GetText(&node->op_type);
        break;
      case 5:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), 1, "attribute",
                                         &node->attributes, Nested(depth)));
        break;
      case 7:
        wire.GetText(&node->domain);
        break;
      case 8:
        wire.GetText(&node->overload);
        break;
    }
  }
  return wire.status();
}

Status Read(Wire wire, ValueInfo* info) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.GetText(&info->name);
        break;
      case 2:
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
      case 1:
        ENCORE_RETURN_IF_ERROR(ReadNode(wire.Message(), depth, &graph->nodes));
        break;
      case 2:
        wire.GetText(&graph->name);
        break;
      case 5:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), 8, "initializer",
                                         &graph->initializers, Flat));
        break;
      case 11:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), 1, "input", &graph->inputs, Flat));
        break;
      case 12:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), 1, "output", &graph->outputs, Flat));
        break;
      case 13:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), 1, "value", &graph->value_infos, Flat));
        break;
      case 15:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), 0, "initializer",
                                         &graph->initializers, ReadSparse));
        break;
    }
  }
  return Annotate(wire.status(), StrCat("graph ", Quote(graph->name)));
}

Status Read(Wire wire, OpsetImport* opset) {
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        wire.GetText(&opset->domain);
        break;
      case 2:
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
      case 1:
        wire.GetText(&function->name);
        break;
      case 4:
        wire.AppendText(&function->inputs);
        break;
      case 5:
        wire.AppendText(&function->outputs);
        break;
      case 6:
        wire.AppendText(&function->attributes);
        break;
      case 7:
        ENCORE_RETURN_IF_ERROR(ReadNode(wire.Message(), 0, &function->nodes));
        break;
      case 9:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &function->opsets.emplace_back()));
        break;
      case 10:
        wire.GetText(&function->domain);
        break;
      case 11:
        ENCORE_RETURN_IF_ERROR(ReadNamed(wire.Message(), 1, "attribute",
                                         &function->attribute_defaults,
                                         Nested(0)));
        break;
      case 13:
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
      case 1:
        wire.Get(&model.ir_version);
        break;
      case 2:
        wire.Get(&model.producer);
        break;
      case 7:
        model.has_graph = true;
        ENCORE_RETURN_IF_ERROR(Read(wire.Message(), 0, &model.graph));
        break;
      case 8:
        ENCORE_RETURN_IF_ERROR(
            Read(wire.Message(), &model.opsets.emplace_back()));
        break;
      case 25:
        ENCORE_RETURN_IF_ERROR(
            ReadNamed(wire.Message(), 1, "function", &model.functions, Flat));
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
    if (wire.field() != 14) continue;
    ENCORE_RETURN_IF_ERROR(Read(wire.Message(), &metadata.emplace_back()));
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return metadata;
}

StatusOr<Tensor> ReadTensor(std::span<const std::byte> bytes) {
  Tensor tensor;
  ENCORE_RETURN_IF_ERROR(Read(Wire(AsText(bytes)), &tensor));
  return tensor;
}

StatusOr<std::vector<Tensor>> ReadSequence(std::span<const std::byte> bytes) {
  std::vector<Tensor> tensors;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    if (wire.field() == 3) {
      ENCORE_RETURN_IF_ERROR(
          ReadNamed(wire.Message(), 8, "tensor", &tensors, Flat));
    } else if (wire.field() > 3) {
      return UnimplementedError("a sequence of anything but tensors");
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return tensors;
}

StatusOr<std::optional<std::span<const std::byte>>> ReadOptional(
    std::span<const std::byte> bytes) {
  std::optional<std::span<const std::byte>> value;
  Wire wire(AsText(bytes));
  while (wire.Next()) {
    const int field = wire.field();
    if (field == 3 || field == 5) {
      std::string_view text;
      wire.Get(&text);
      value = std::as_bytes(std::span(text.data(), text.size()));
    } else if (field > 3) {
      return UnimplementedError(
          "an optional of anything but tensors and sequences");
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return value;
}

}  // namespace encore::onnx
