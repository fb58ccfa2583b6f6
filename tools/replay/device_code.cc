#include "encore/tools/replay/device_code.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using backends::cuda::ModuleImage;

constexpr std::string_view kBackends[] = {"cuda", "cuda_emulated"};

// Backend, sort, architecture, least driver.
using RowKey = std::tuple<std::string, std::string, std::string, uint32_t>;
struct Row {
  int64_t modules = 0;
  uint64_t bytes = 0;
};

void CountImages(const std::string& backend, const runtime::Blob& blob,
                 std::map<RowKey, Row>* rows) {
  const auto add = [&](const RowKey& key, size_t bytes) {
    Row& row = (*rows)[key];
    ++row.modules;
    row.bytes += bytes;
  };
  const auto images = backends::cuda::DecodeModule(blob.bytes);
  if (!images.ok()) {
    add({backend, "unreadable", "", 0}, blob.bytes.size());
    return;
  }
  for (const ModuleImage& image : *images) {
    add({backend, image.kind == ModuleImage::Kind::kPtx ? "ptx" : "cubin",
         Name(image.architecture), image.driver},
        image.bytes.size());
  }
}

bool IsCuda(const runtime::KernelBinary& binary) {
  return std::ranges::find(kBackends, binary.backend) != std::end(kBackends);
}

std::string FieldText(const Json& row, const char* name) {
  return row[name].is_string() ? PrintableName(row[name].get<std::string>())
                               : row[name].dump();
}

}  // namespace

Json DeviceCodeJson(const runtime::CompiledGraph& graph) {
  std::map<RowKey, Row> rows;
  std::set<std::pair<std::string_view, uint32_t>> seen;
  for (const runtime::KernelBinary& binary : graph.kernel_binaries) {
    if (!IsCuda(binary) || !binary.artifact.valid() ||
        binary.artifact.value() >= graph.blobs.size() ||
        !seen.emplace(binary.backend, binary.artifact.value()).second) {
      continue;
    }
    CountImages(binary.backend, graph.blobs[binary.artifact.value()], &rows);
  }
  Json json = Json::array();
  for (const auto& [key, row] : rows) {
    const auto& [backend, kind, architecture, driver] = key;
    Json one;
    one["backend"] = backend;
    one["kind"] = kind;
    one["architecture"] = architecture;
    one["least_driver"] = StrCat(driver / 1000, ".", driver % 1000 / 10);
    one["modules"] = row.modules;
    one["bytes"] = row.bytes;
    json.push_back(std::move(one));
  }
  return json;
}

std::string DeviceCodeText(const Json& rows) {
  std::string text;
  for (const Json& row : rows) {
    const auto field = [&](const char* name) { return FieldText(row, name); };
    StrAppend(&text, "  code       ", field("backend"), " ",
              field("architecture"), ": ", field("modules"), " ", field("kind"),
              ", ", field("bytes"), " bytes, driver of CUDA ",
              field("least_driver"), " or later\n");
  }
  return text;
}

Json LibraryRecipesJson(const runtime::CompiledGraph& graph) {
  // Backend, library, version, generated kernel.
  std::map<std::tuple<std::string, std::string, uint32_t, std::string>, int64_t>
      counts;
  for (const runtime::KernelBinary& binary : graph.kernel_binaries) {
    if (!IsCuda(binary) || !backends::cuda::HasRecipe(binary.params)) continue;
    const auto params = backends::cuda::DecodeLibraryParams(
        binary.params, binary.reads, binary.writes);
    if (params.ok()) {
      const auto& recipe = params->recipe;
      ++counts[{binary.backend, recipe.library, recipe.version,
                params->generated}];
    } else {
      ++counts[{binary.backend, "unreadable", 0, ""}];
    }
  }
  Json json = Json::array();
  for (const auto& [key, count] : counts) {
    Json one;
    one["backend"] = std::get<0>(key);
    one["library"] = std::get<1>(key);
    one["version"] = std::get<2>(key);
    one["generated"] = std::get<3>(key);
    one["kernels"] = count;
    json.push_back(std::move(one));
  }
  return json;
}

std::string LibraryRecipesText(const Json& rows) {
  std::string text;
  for (const Json& row : rows) {
    const auto field = [&](const char* name) { return FieldText(row, name); };
    StrAppend(&text, "  recipes    ", field("backend"), " ", field("library"),
              " ", field("version"), ": ", field("kernels"),
              ", beside generated kernel ", field("generated"), "\n");
  }
  return text;
}

}  // namespace encore::tools
