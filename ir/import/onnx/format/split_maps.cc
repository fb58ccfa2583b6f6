#include "encore/ir/import/onnx/format/split_maps.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/check_model.h"
#include "encore/ir/import/onnx/format/check_node.h"
#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/import/onnx/format/read_type.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Kind = Type::Kind;

bool IsMl(const Node& node, std::string_view op_type) {
  return node.domain == "ai.onnx.ml" && node.op_type == op_type;
}
bool MakesMaps(const Node& node) { return IsMl(node, "ZipMap"); }
bool TakesMap(const Node& node) {
  return IsMl(node, "CastMap") || IsMl(node, "DictVectorizer");
}

bool IsMap(const Type& type) {
  return type.kind == Kind::kMap || type.kind == Kind::kMapSequence;
}

// The sequence of maps that a ZipMap gives, whose keys are one of two lists.
StatusOr<Type> TypeOfMaps(const Node& node) {
  bool integers = false, strings = false;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == "classlabels_int64s") {
      integers = !attribute.ints.empty();
    }
    if (attribute.name == "classlabels_strings") {
      strings = !attribute.strings.empty();
    }
  }
  if (integers == strings) {
    return InvalidArgumentError(StrCat(
        NodeTitle(node),
        ": attributes classlabels_int64s and classlabels_strings are ",
        strings ? "both given" : "both empty", ", expected one of them"));
  }
  Type type;
  type.kind = Kind::kMapSequence;
  type.element_type = static_cast<int32_t>(ElementType::kFloat);
  type.key_type = static_cast<int32_t>(strings ? ElementType::kString
                                               : ElementType::kInt64);
  type.text =
      StrCat("seq(map(", ElementText(type.key_type), ",tensor(float)))");
  return type;
}

// A map's type as schemas have it.
ValueType ValueTypeOf(const Type& map) {
  const bool strings =
      map.key_type == static_cast<int32_t>(ElementType::kString);
  const bool sequence = map.kind == Kind::kMapSequence;
  const TypeSet::Kind kind =
      strings ? (sequence ? TypeSet::kStringMapSequence : TypeSet::kStringMap)
              : (sequence ? TypeSet::kIntMapSequence : TypeSet::kIntMap);
  return {kind, static_cast<ElementType>(map.element_type)};
}

bool IsSame(const Type& a, const Type& b) {
  return a.kind == b.kind && a.key_type == b.key_type &&
         a.element_type == b.element_type;
}

class Splitter {
 public:
  Splitter(Model* model, std::deque<std::string>* names)
      : model_(model), names_(names) {}

  Status Run() {
    for (const ValueInfo& input : model_->graph.inputs) {
      if (IsMap(input.type)) maps_.emplace(input.name, input.type);
    }
    ENCORE_RETURN_IF_ERROR(FindMaps(model_->graph));
    if (maps_.empty()) return OkStatus();
    ENCORE_RETURN_IF_ERROR(CheckNames());
    for (const Tensor& tensor : model_->graph.initializers) {
      if (!maps_.contains(tensor.name)) continue;
      return InvalidArgumentError(StrCat("value ", Quote(tensor.name), " is ",
                                         maps_.find(tensor.name)->second.text,
                                         ", which no initializer can be"));
    }
    ENCORE_RETURN_IF_ERROR(SplitInfos(&model_->graph.inputs));
    ENCORE_RETURN_IF_ERROR(SplitInfos(&model_->graph.outputs));
    return SplitGraph(&model_->graph);
  }

 private:
  // Those that nodes give, here and in subgraphs, which nest at most
  // kMaxGraphDepth deep.
  Status FindMaps(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (MakesMaps(node) && !node.outputs[0].empty()) {
        ENCORE_ASSIGN_OR_RETURN(Type type, TypeOfMaps(node));
        maps_.emplace(node.outputs[0], std::move(type));
      }
      for (const Attribute& attribute : node.attributes) {
        if (attribute.g == nullptr) continue;
        ENCORE_RETURN_IF_ERROR(FindMaps(*attribute.g));
      }
    }
    return OkStatus();
  }

  // Whether another value has the name of a map's tensor.
  Status CheckNames() const {
    std::set<std::string_view> taken;
    for (const ValueInfo& input : model_->graph.inputs) {
      taken.insert(input.name);
    }
    for (const Tensor& tensor : model_->graph.initializers) {
      taken.insert(tensor.name);
    }
    for (const Node& node : model_->graph.nodes) {
      taken.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const auto& [name, type] : maps_) {
      for (const std::string& part : {KeysOf(name), ValuesOf(name)}) {
        if (!taken.contains(part)) continue;
        return InvalidArgumentError(
            StrCat("the name ", Quote(part), " is given to more than one ",
                   "value: it is that of a tensor of the map ", Quote(name)));
      }
    }
    return OkStatus();
  }

  std::string_view Keep(std::string name) {
    return names_->emplace_back(std::move(name));
  }

  // The declarations of a map's two tensors in place of it.
  Status SplitInfos(std::vector<ValueInfo>* infos) {
    std::vector<ValueInfo> split;
    for (ValueInfo& info : *infos) {
      const auto map = maps_.find(info.name);
      if (map == maps_.end()) {
        split.push_back(std::move(info));
        continue;
      }
      const Type& type = map->second;
      if (info.type.kind != Kind::kNone && !IsSame(info.type, type)) {
        return InvalidArgumentError(StrCat("value ", Quote(info.name),
                                           " is declared ", TypeText(info.type),
                                           " but is ", type.text));
      }
      const std::string_view length = Keep(StrCat(info.name, "_length"));
      ValueInfo keys{Keep(KeysOf(info.name)), {}};
      keys.type.kind = Kind::kTensor;
      keys.type.element_type = type.key_type;
      keys.type.shape.emplace(1, Dimension{std::nullopt, length});
      ValueInfo values{Keep(ValuesOf(info.name)), keys.type};
      values.type.element_type = type.element_type;
      if (type.kind == Kind::kMapSequence) {
        const std::string_view maps = Keep(StrCat(info.name, "_maps"));
        values.type.shape->insert(values.type.shape->begin(),
                                  Dimension{std::nullopt, maps});
      }
      split.push_back(std::move(keys));
      split.push_back(std::move(values));
    }
    *infos = std::move(split);
    return OkStatus();
  }

  Status SplitGraph(Graph* graph) {
    std::erase_if(graph->value_infos, [&](const ValueInfo& info) {
      return maps_.contains(info.name);
    });
    for (Node& node : graph->nodes) {
      const Status split = SplitNode(&node);
      if (!split.ok()) return Annotate(split, NodeTitle(node));
    }
    return OkStatus();
  }

  Status SplitNode(Node* node) {
    ENCORE_RETURN_IF_ERROR(CheckReads(*node));
    if (TakesMap(*node) && maps_.contains(node->inputs[0])) {
      Split(&node->inputs);
    }
    if (MakesMaps(*node)) Split(&node->outputs);
    for (Attribute& attribute : node->attributes) {
      if (attribute.g == nullptr) continue;
      auto body = std::make_shared<Graph>(*attribute.g);
      for (const ValueInfo& output : body->outputs) {
        if (!maps_.contains(output.name)) continue;
        return InvalidArgumentError(StrCat(
            "attribute ", attribute.name, ": output ", Quote(output.name),
            " is ", maps_.find(output.name)->second.text,
            ", which no subgraph gives"));
      }
      ENCORE_RETURN_IF_ERROR(SplitGraph(body.get()));
      attribute.g = std::move(body);
    }
    return OkStatus();
  }

  // Of inputs that are maps whether the operator takes them.
  Status CheckReads(const Node& node) {
    if (std::ranges::none_of(node.inputs, [&](std::string_view name) {
          return maps_.contains(name);
        })) {
      return OkStatus();
    }
    ENCORE_ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(*model_, node));
    return CheckTypes(*schema, node,
                      [&](std::string_view name) -> std::optional<ValueType> {
                        const auto map = maps_.find(name);
                        if (map == maps_.end()) return std::nullopt;
                        return ValueTypeOf(map->second);
                      });
  }

  void Split(std::vector<std::string_view>* names) {
    const std::string_view name = (*names)[0];
    if (name.empty()) return;
    *names = {Keep(KeysOf(name)), Keep(ValuesOf(name))};
  }

  Model* model_;
  std::deque<std::string>* names_;
  std::map<std::string_view, Type> maps_;
};

}  // namespace

std::string KeysOf(std::string_view name) { return StrCat(name, ".keys"); }
std::string ValuesOf(std::string_view name) { return StrCat(name, ".values"); }

Status SplitMaps(Model* model, std::deque<std::string>* names) {
  return Splitter(model, names).Run();
}

bool ReadsSplitMap(const Node& node) {
  return TakesMap(node) && node.inputs.size() == 2;
}

}  // namespace encore::onnx
