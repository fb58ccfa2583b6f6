#include "encore/tools/run/inputs.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/io/generate.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/io/tensor_file.h"

namespace encore::tools {
namespace {

// PREFIX_0.pb, PREFIX_1.pb, … of a folder.
StatusOr<std::vector<Literal>> ReadNumbered(const std::string& folder,
                                            std::string_view prefix) {
  std::vector<Literal> tensors;
  for (int i = 0;; ++i) {
    const std::string path = StrCat(folder, "/", prefix, "_", i, ".pb");
    if (!std::filesystem::exists(path)) return tensors;
    ENCORE_ASSIGN_OR_RETURN(Literal tensor, ReadTensor(path));
    tensors.push_back(std::move(tensor));
  }
}

Status CheckFits(const Graph& graph, const Graph::Argument& argument,
                 const Literal& literal) {
  const TensorType& type = graph.type(argument.value);
  bool fits = literal.dtype() == type.dtype && literal.host() == type.host &&
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
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(names, name) == names.end()) {
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

StatusOr<GivenTensors> ReadGivenTensors(const std::vector<std::string>& inputs,
                                        const std::string& data,
                                        const std::string& expect) {
  GivenTensors given;
  for (const std::string& input : inputs) {
    const size_t equals = input.find('=');
    if (equals != std::string::npos) {
      ENCORE_ASSIGN_OR_RETURN(Literal tensor,
                              ReadTensor(input.substr(equals + 1)));
      given.inputs.insert_or_assign(input.substr(0, equals), std::move(tensor));
    } else if (input.ends_with(".npz")) {
      ENCORE_ASSIGN_OR_RETURN(NamedTensors tensors, ReadTensors(input));
      for (auto& [name, tensor] : tensors) {
        given.inputs.insert_or_assign(name, tensor.Aligned());
      }
    } else {
      return InvalidArgumentError(
          StrCat("--input ", input, ": expected NAME=FILE or FILE.npz"));
    }
  }
  if (!expect.empty()) {
    ENCORE_ASSIGN_OR_RETURN(given.expected, ReadTensors(expect));
  }
  if (!data.empty()) {
    ENCORE_ASSIGN_OR_RETURN(given.positional_inputs,
                            ReadNumbered(data, "input"));
    ENCORE_ASSIGN_OR_RETURN(given.positional_expected,
                            ReadNumbered(data, "output"));
    if (given.positional_inputs.empty() && given.positional_expected.empty()) {
      return NotFoundError(
          StrCat("--data ", data, ": no input_0.pb and no output_0.pb"));
    }
  }
  return given;
}

Literal Convert(const Literal& literal, DType dtype) {
  if (literal.dtype() == dtype) return literal;
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
      if (type.host != HostKind::kNone) {
        return UnimplementedError(
            StrCat("input ", Quote(argument.name), " is ", type,
                   ", which files of tensors cannot give"));
      }
      const Shape& shape = type.shape;
      if (!shape.is_constant()) {
        return InvalidArgumentError(StrCat(
            "input ", Quote(argument.name), " has the open shape ",
            shape.ToString(graph.symbols()),
            "; bind it with --bind NAME=VALUE or give the input with --input"));
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
