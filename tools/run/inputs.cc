#include "encore/tools/run/inputs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "encore/ir/import/import.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/io/generate.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/io/onnx_value.h"
#include "encore/tools/io/tensor_file.h"

namespace encore::tools {
namespace {

using Values = std::vector<ModelTypes::Value>;

bool IsProto(const std::string& path) { return path.ends_with(".pb"); }

// The value of that name; a tensor where there is none.
ModelTypes::Value ValueNamed(const Values& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &ModelTypes::Value::name);
  return found == values.end() ? ModelTypes::Value{name, TensorType(), {name}}
                               : *found;
}

// PREFIX_0.pb, PREFIX_1.pb, … of a folder.
std::vector<std::string> Numbered(const std::string& folder,
                                  std::string_view prefix) {
  std::vector<std::string> paths;
  for (size_t i = 0;; ++i) {
    std::string path = StrCat(folder, "/", prefix, "_", i, ".pb");
    if (!StampOf(path).ok()) return paths;
    paths.push_back(std::move(path));
  }
}

StatusOr<std::vector<Literal>> ReadNumbered(const std::string& folder,
                                            std::string_view prefix,
                                            const Values& types) {
  std::vector<Literal> values;
  const std::vector<std::string> paths = Numbered(folder, prefix);
  for (size_t i = 0; i < paths.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(
        std::vector<Literal> parts,
        ReadModelValue(paths[i],
                       i < types.size() ? types[i] : ModelTypes::Value()));
    std::ranges::move(parts, std::back_inserter(values));
  }
  return values;
}

Status ReadInput(const std::string& input, const ModelTypes& types,
                 NamedTensors* inputs) {
  const size_t equals = input.find('=');
  if (equals != std::string::npos) {
    const std::string name = input.substr(0, equals);
    const std::string path = input.substr(equals + 1);
    if (!IsProto(path)) {
      ENCORE_ASSIGN_OR_RETURN(Literal value, ReadTensor(path));
      inputs->insert_or_assign(name, std::move(value));
      return OkStatus();
    }
    const ModelTypes::Value value = ValueNamed(types.inputs, name);
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> parts,
                            ReadModelValue(path, value));
    for (size_t i = 0; i < parts.size(); ++i) {
      inputs->insert_or_assign(value.parts[i], std::move(parts[i]));
    }
    return OkStatus();
  }
  if (!input.ends_with(".npz")) {
    return InvalidArgumentError(
        StrCat("--input ", input, ": expected NAME=FILE or FILE.npz"));
  }
  ENCORE_ASSIGN_OR_RETURN(NamedTensors tensors, ReadTensors(input));
  for (auto& [name, tensor] : tensors) {
    inputs->insert_or_assign(name, tensor.Aligned());
  }
  return OkStatus();
}

Status CheckFits(const Graph& graph, const Graph::Argument& argument,
                 const Literal& literal) {
  const TensorType& type = graph.type(argument.value);
  bool fits = literal.dtype() == type.dtype && literal.kind() == type.kind &&
              literal.rank() == type.shape.rank();
  for (int i = 0; fits && i < literal.rank(); ++i) {
    fits = !type.shape[i].is_constant() ||
           type.shape[i].constant() == literal.dims()[i];
  }
  if (fits) return OkStatus();
  return InvalidArgumentError(StrCat("input ", Quote(argument.name), " is ",
                                     type.ToString(graph.symbols()),
                                     ", the tensor given is ", literal.type()));
}

// `kind`: input or output; `count`: of tensors given by position.
Status CheckNames(std::string_view kind,
                  std::span<const std::string_view> names,
                  const NamedTensors& given, size_t count) {
  const std::set<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) {
      return InvalidArgumentError(
          StrCat("the model has no ", kind, " ", Quote(name)));
    }
  }
  if (count <= names.size()) return OkStatus();
  return InvalidArgumentError(StrCat(
      "the model has ", names.size(), " ", kind, names.size() == 1 ? "" : "s",
      ", given is ", kind, "_", count - 1, ".pb too"));
}

}  // namespace

void AddGivenFiles(const GivenFiles& given, CommandFiles* files) {
  for (const std::string& input : given.inputs) files->ReadsInput(input);
  files->Reads("--expect", given.expect);
  if (given.data.empty()) return;
  for (const char* prefix : {"input", "output"}) {
    for (const std::string& path : Numbered(given.data, prefix)) {
      files->Reads("--data", path);
    }
  }
}

StatusOr<GivenTensors> ReadGivenTensors(const GivenFiles& files,
                                        const std::string& model) {
  GivenTensors given;
  ModelTypes types;
  // Packages and their calls need no types.
  if ((!files.data.empty() || std::ranges::any_of(files.inputs, IsProto)) &&
      !model.ends_with(".encore")) {
    ENCORE_ASSIGN_OR_RETURN(types, ReadModelTypes(model));
  }
  for (const std::string& input : files.inputs) {
    ENCORE_RETURN_IF_ERROR(ReadInput(input, types, &given.inputs));
  }
  if (!files.expect.empty()) {
    ENCORE_ASSIGN_OR_RETURN(given.expected, ReadTensors(files.expect));
  }
  if (!files.data.empty()) {
    ENCORE_ASSIGN_OR_RETURN(given.positional_inputs,
                            ReadNumbered(files.data, "input", types.inputs));
    ENCORE_ASSIGN_OR_RETURN(given.positional_expected,
                            ReadNumbered(files.data, "output", types.outputs));
    if (given.positional_inputs.empty() && given.positional_expected.empty()) {
      return NotFoundError(
          StrCat("--data ", files.data, ": no input_0.pb and no output_0.pb"));
    }
  }
  return given;
}

std::optional<std::vector<int64_t>> ExtentsOf(const Literal& value) {
  if (value.kind() == ValueKind::kTensor) return value.dims();
  std::optional<std::vector<int64_t>> joined;
  for (const Literal& element : value.elements()) {
    const auto extents = ExtentsOf(element);
    if (!extents) return std::nullopt;
    if (!joined) {
      joined = extents;
      continue;
    }
    if (joined->size() != extents->size()) return std::nullopt;
    for (size_t i = 0; i < extents->size(); ++i) {
      if ((*joined)[i] != (*extents)[i]) (*joined)[i] = -1;
    }
  }
  return joined;
}

Literal Convert(const Literal& literal, DType dtype) {
  if (literal.dtype() == dtype || IsString(literal.dtype()) ||
      IsString(dtype)) {
    return literal;
  }
  Literal converted(dtype, literal.dims());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsFloat(dtype)) {
      converted.SetDouble(i, literal.AsDouble(i));
    } else {
      converted.SetInt(i, literal.AsInt(i));
    }
  }
  return converted;
}

Status CheckGiven(const Graph& graph, const GivenTensors& given) {
  std::vector<std::string_view> inputs, outputs;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (!argument.is_parameter) inputs.push_back(argument.name);
  }
  for (const Graph::Output& output : graph.outputs()) {
    outputs.push_back(output.name);
  }
  ENCORE_RETURN_IF_ERROR(CheckNames("input", inputs, given.inputs,
                                    given.positional_inputs.size()));
  return CheckNames("output", outputs, given.expected,
                    given.positional_expected.size());
}

StatusOr<std::vector<Literal>> MakeInputs(const Graph& graph,
                                          const GivenTensors& given,
                                          uint64_t seed) {
  ENCORE_RETURN_IF_ERROR(CheckGiven(graph, given));
  std::vector<Literal> inputs;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    const size_t position = inputs.size();
    const auto named = given.inputs.find(argument.name);
    if (named != given.inputs.end()) {
      const DType dtype = graph.dtype(argument.value);
      inputs.push_back(given.convert ? Convert(named->second, dtype)
                                     : FromNpyType(named->second, dtype));
    } else if (position < given.positional_inputs.size()) {
      inputs.push_back(given.positional_inputs[position]);
    } else {
      const TensorType& type = graph.type(argument.value);
      if (type.kind != ValueKind::kTensor) {
        return InvalidArgumentError(
            StrCat("input ", Quote(argument.name), " is ", type,
                   ", which cannot be generated; give it as a .pb file with "
                   "--input or --data"));
      }
      const Shape& shape = type.shape;
      if (!shape.is_constant()) {
        return InvalidArgumentError(
            StrCat("input ", Quote(argument.name), " has the dynamic shape ",
                   shape.ToString(graph.symbols()),
                   "; fix its symbols with --bind NAME=VALUE or give the input "
                   "with --input"));
      }
      auto input = Generate(graph.dtype(argument.value), shape.ConstantDims(),
                            seed + position);
      if (!input.ok()) return Annotate(input.status(), argument.name);
      inputs.push_back(*std::move(input));
    }
    ENCORE_RETURN_IF_ERROR(CheckFits(graph, argument, inputs.back()));
  }
  return inputs;
}

}  // namespace encore::tools
