#include "encore/tests/onnx/corpus.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace encore::tests {
namespace {

// Larger models say nothing new, and take longer.
constexpr size_t kMaxBytes = 16 << 10;

}  // namespace

std::vector<Sample> ReadCorpus(const std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  std::vector<Sample> samples;
  for (const std::string& root : roots) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
      if (entry.path().filename() == "model.onnx" &&
          entry.file_size() <= kMaxBytes) {
        paths.push_back(entry.path().string());
      }
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      std::ifstream file(path, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      ::onnx::ModelProto model;
      if (model.ParseFromString(bytes)) samples.push_back({path, model});
    }
  }
  return samples;
}

}  // namespace encore::tests
