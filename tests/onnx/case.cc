#include "encore/tests/onnx/case.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/format/map_data.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/split_maps.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal_compare.h"

namespace encore::tests {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance kTolerance = {.relative = 1e-3, .absolute = 1e-7};

bool IsMap(const onnx::Type& type) {
  return type.kind == onnx::Type::Kind::kMap ||
         type.kind == onnx::Type::Kind::kMapSequence;
}

// The values PREFIX_0.pb, PREFIX_1.pb, … of a data set, of `types` in order; of
// a map its keys and its values.
StatusOr<std::vector<Literal>> ReadValues(
    const fs::path& folder, std::string_view prefix,
    const std::vector<onnx::Type>& types) {
  std::vector<Literal> values;
  for (size_t i = 0;; ++i) {
    const fs::path path = folder / StrCat(prefix, "_", i, ".pb");
    if (!fs::exists(path)) return values;
    ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path.string()));
    const onnx::Type type = i < types.size() ? types[i] : onnx::Type();
    if (IsMap(type)) {
      ENCORE_ASSIGN_OR_RETURN(onnx::MapData map,
                              onnx::ToMap(file->bytes(), type, {file}));
      values.push_back(std::move(map.keys));
      values.push_back(std::move(map.values));
      continue;
    }
    ENCORE_ASSIGN_OR_RETURN(Literal value,
                            onnx::ToValue(file->bytes(), type, {file}));
    values.push_back(std::move(value));
  }
}

int64_t OpsetOf(const std::string& model) {
  const auto file = MappedFile::Open(model);
  if (!file.ok()) return 0;
  const auto parsed = onnx::ReadModel((*file)->bytes());
  if (!parsed.ok()) return 0;
  for (const onnx::OpsetImport& opset : parsed->opsets) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  }
  return 0;
}

// Bits of bf16 that the data has as u16: the older numpy had no other way.
Literal AsDeclared(const Literal& data, DType declared) {
  if (data.dtype() != DType::kU16 || declared != DType::kBF16) return data;
  return *Literal::Copy(declared, data.dims(), data.bytes());
}

// The inputs of a model that have no initializer, and the types of its outputs.
struct Signature {
  std::shared_ptr<const MappedFile> file;  // the types are views into it
  // By tensor: a map is two.
  std::vector<std::string> names;
  std::vector<DType> dtypes;
  std::vector<onnx::Type> inputs, outputs;

  void Add(std::string name, int32_t element_type) {
    names.push_back(std::move(name));
    dtypes.push_back(onnx::DTypeOf(element_type).value_or(DType()));
  }
};

StatusOr<Signature> SignatureOf(const fs::path& model) {
  Signature signature;
  ENCORE_ASSIGN_OR_RETURN(signature.file, MappedFile::Open(model.string()));
  ENCORE_ASSIGN_OR_RETURN(const onnx::Model parsed,
                          onnx::ReadModel(signature.file->bytes()));
  for (const onnx::ValueInfo& input : parsed.graph.inputs) {
    const bool initialized = std::ranges::any_of(
        parsed.graph.initializers,
        [&](const onnx::Tensor& tensor) { return tensor.name == input.name; });
    if (initialized) continue;
    if (IsMap(input.type)) {
      signature.Add(onnx::KeysOf(input.name), input.type.key_type);
      signature.Add(onnx::ValuesOf(input.name), input.type.element_type);
    } else {
      signature.Add(std::string(input.name), input.type.element_type);
    }
    signature.inputs.push_back(input.type);
  }
  for (const onnx::ValueInfo& output : parsed.graph.outputs) {
    signature.outputs.push_back(output.type);
  }
  return signature;
}

// The model with the shapes of the data.
StatusOr<Graph> ImportFor(const fs::path& model,
                          const std::vector<std::string>& names,
                          const std::vector<Literal>& data) {
  ImportOptions options;
  for (size_t i = 0; i < std::min(names.size(), data.size()); ++i) {
    if (data[i].kind() == ValueKind::kTensor) {
      options.input_shapes[names[i]] = data[i].dims();
    }
  }
  return ImportFile(model.string(), options);
}

Status RunDataSet(const fs::path& model, const fs::path& folder,
                  const Execute& execute, double bf16_relative) {
  ENCORE_ASSIGN_OR_RETURN(const Signature signature, SignatureOf(model));
  ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> data,
                          ReadValues(folder, "input", signature.inputs));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> expected,
                          ReadValues(folder, "output", signature.outputs));
  for (size_t i = 0; i < std::min(signature.names.size(), data.size()); ++i) {
    data[i] = AsDeclared(data[i], signature.dtypes[i]);
  }
  ENCORE_ASSIGN_OR_RETURN(const Graph graph,
                          ImportFor(model, signature.names, data));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> outputs,
                          execute(graph, data));
  if (outputs.size() != expected.size()) {
    return FailedPreconditionError(
        StrCat(outputs.size(), " outputs, expected ", expected.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tolerance tolerance = kTolerance;
    if (outputs[i].dtype() == DType::kBF16) tolerance.relative = bf16_relative;
    const LiteralDifference difference = CompareLiterals(
        outputs[i], AsDeclared(expected[i], outputs[i].dtype()), tolerance);
    if (!difference.ok) {
      return FailedPreconditionError(
          StrCat("output ", i, ": ", difference.text));
    }
  }
  return OkStatus();
}

std::string Dependencies() {
  const char* deps = std::getenv("ENCORE_DEPS");
  return deps == nullptr ? "" : deps;
}

}  // namespace

std::string NewerRoot() {
  return StrCat(Dependencies(), "/onnx/onnx==1.16.2/onnx/backend/test/data");
}

std::string NewestRoot() {
  return StrCat(Dependencies(), "/onnx/onnx==1.23.2/cases");
}

std::vector<std::string> NewerCases() {
  std::vector<std::string> cases = FindCases(NewerRoot());
  std::erase_if(cases, [](const std::string& name) {
    return OpsetOf(StrCat(NewerRoot(), "/", name, "/model.onnx")) < 18;
  });
  return cases;
}

std::vector<std::string> FindCases(const std::string& root) {
  std::vector<std::string> cases;
  std::error_code error;
  for (const auto& suite : fs::directory_iterator(root, error)) {
    if (!suite.is_directory() || suite.path().filename() == "real") continue;
    for (const auto& entry : fs::directory_iterator(suite.path(), error)) {
      if (!fs::exists(entry.path() / "model.onnx")) continue;
      cases.push_back(StrCat(suite.path().filename().string(), "/",
                             entry.path().filename().string()));
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::string CaseTestName(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(c) ? c : '_';
  return name;
}

Status RunCase(const std::string& folder, const Execute& execute,
               double bf16_relative) {
  for (int set = 0;; ++set) {
    const fs::path data = fs::path(folder) / StrCat("test_data_set_", set);
    if (!fs::exists(data)) {
      return set > 0 ? OkStatus()
                     : NotFoundError(StrCat("no data in ", folder));
    }
    ENCORE_RETURN_IF_ERROR(RunDataSet(fs::path(folder) / "model.onnx", data,
                                      execute, bf16_relative));
  }
}

}  // namespace encore::tests
