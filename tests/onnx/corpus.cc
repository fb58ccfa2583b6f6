#include "encore/tests/onnx/corpus.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/microsoft/operator_case.h"

namespace encore::tests {
namespace {

// Larger models say nothing new, and take longer.
constexpr size_t kMaxBytes = 16 << 10;

void AddModel(const std::string& name, const std::string& bytes,
              std::vector<Sample>* samples) {
  ::onnx::ModelProto model;
  if (model.ParseFromString(bytes)) samples->push_back({name, model});
}

void AddCases(const std::filesystem::path& path, std::vector<Sample>* samples) {
  const auto cases = ReadOperatorCases(path.string());
  if (!cases.ok()) return;
  for (size_t i = 0; i < cases->size(); ++i) {
    AddModel(StrCat(path.string(), "#", i),
             ModelOf((*cases)[i], "com.microsoft", path.stem().string(),
                     /*symbolic=*/false),
             samples);
  }
}

}  // namespace

std::vector<Sample> ReadCorpus(const std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  std::vector<Sample> samples;
  for (const std::string& root : roots) {
    std::set<fs::path> paths;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
      const bool is_model = entry.path().filename() == "model.onnx" &&
                            entry.file_size() <= kMaxBytes;
      if (is_model || entry.path().extension() == ".txt") {
        paths.insert(entry.path());
      }
    }
    for (const fs::path& path : paths) {
      if (path.extension() == ".txt") {
        AddCases(path, &samples);
        continue;
      }
      std::ifstream file(path, std::ios::binary);
      AddModel(path.string(), {(std::istreambuf_iterator<char>(file)), {}},
               &samples);
    }
  }
  return samples;
}

}  // namespace encore::tests
