#include "encore/tools/ops/op_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/cuda/fake/emulated_device.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/import/onnx/format/upgrade.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"

namespace encore::tools {
namespace {

using backends::Backend;

// A backend up to the generation of code: what it accepts is asked of it, what
// it would generate is left out.
class WithoutCode : public Backend {
 public:
  explicit WithoutCode(const Backend& backend) : backend_(backend) {}

  std::string_view name() const override { return backend_.name(); }
  std::vector<std::pair<std::string, std::string>> Target(
      const backends::CompileOptions& options) const override {
    return backend_.Target(options);
  }
  bool Uses(std::string_view option) const override {
    return backend_.Uses(option);
  }
  std::span<const DType> dtypes() const override { return backend_.dtypes(); }
  bool supports_symbolic_sizes() const override {
    return backend_.supports_symbolic_sizes();
  }
  bool uses_host_memory() const override { return backend_.uses_host_memory(); }
  std::vector<backends::Candidate> Candidates(
      const backends::KernelRequest& request,
      const backends::CompileOptions& options) const override {
    return backend_.Candidates(request, options);
  }
  StatusOr<backends::CompiledModule> Compile(
      std::span<const backends::CompileRequest> requests,
      const backends::CompileOptions&,
      backends::ArtifactStore*) const override {
    backends::CompiledModule module;
    module.kernels.resize(requests.size());
    return module;
  }
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return backend_.NewDevice(ordinal);
  }

 private:
  const Backend& backend_;
};

std::vector<DType> CompiledDTypes(const OpInfo& info, const Backend& backend) {
  const WithoutCode asked(backend);
  const Backend* const backends[] = {&asked};
  backends::CompileOptions options;
  options.target = std::string(backend.name());
  std::vector<DType> dtypes;
  for (const DType dtype : info.dtypes) {
    // A node of another dtype may have been simplified away.
    const bool computed =
        IsString(dtype) || std::ranges::count(backend.dtypes(), dtype) > 0;
    if (!computed) continue;
    const std::optional<Graph> graph = RandomNode(info.op, dtype, /*seed=*/1);
    if (graph && backends::Compile(*graph, options, backends).ok()) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

// The opsets below `end`, grouped by the steps of an operator.
std::vector<std::string> OpsetGroups(std::string_view op_type, int64_t end) {
  std::vector<std::string> groups;
  int64_t begin = 1;
  const auto close = [&](int64_t next) {
    if (next > begin) {
      groups.push_back(begin == next - 1 ? StrCat(begin)
                                         : StrCat(begin, "-", next - 1));
    }
    begin = next;
  };
  for (const int64_t opset : onnx::UpgradedAt(op_type)) close(opset);
  close(end);
  return groups;
}

// The opset at which an operator is no longer read.
int64_t OpsetEnd(std::string_view op_type) {
  constexpr std::string_view kMlDomain = "ai.onnx.ml";
  if (op_type.find('.') == std::string_view::npos) {
    return onnx::kNewestOpset + 1;
  }
  // Other domains have one.
  if (!op_type.starts_with(kMlDomain)) return 2;
  const std::string_view name = op_type.substr(kMlDomain.size() + 1);
  int64_t end = onnx::kNewestMlOpset + 1;
  while (!onnx::FindSchema(kMlDomain, name, end - 1).ok()) --end;
  return end;
}

}  // namespace

std::vector<OpEntry> MakeOpTable() {
  std::vector<OpEntry> table;
  const std::vector<OnnxEntry> onnx = MakeOnnxTable();
  for (const OpInfo& info : AllOps()) {
    OpEntry entry;
    entry.info = &info;
    for (const Backend* backend : backends::AllBackends()) {
      // It has cuda's kernels.
      if (backend->name() == backends::cuda::kEmulatedBackend) continue;
      std::vector<DType> dtypes = CompiledDTypes(info, *backend);
      if (dtypes.empty()) continue;
      entry.backends.push_back({backend->name(), std::move(dtypes)});
    }
    for (const OnnxEntry& operation : onnx) {
      if (operation.op == info.op) entry.onnx.push_back(operation.op_type);
    }
    table.push_back(std::move(entry));
  }
  return table;
}

std::vector<OnnxEntry> MakeOnnxTable() {
  std::map<std::string_view, OnnxEntry> table;
  for (const std::string_view op_type : onnx::ConvertedOps()) {
    table[op_type] = {op_type, onnx::FindConverter(op_type)->op,
                      OpsetGroups(op_type, OpsetEnd(op_type))};
  }
  // Operators of older opsets only, which a step turns into another.
  for (const std::string_view op_type : onnx::UpgradedOps()) {
    if (table.contains(op_type)) continue;
    const int64_t end = onnx::UpgradedAt(op_type).back();
    onnx::Node node;
    node.op_type = op_type;
    onnx::UpgradeStore store;
    if (!onnx::UpgradeNode(end - 1, &node, &store).ok()) continue;
    const onnx::Converter* converter = onnx::FindConverter(node.op_type);
    if (converter == nullptr) continue;
    table[op_type] = {op_type, converter->op, OpsetGroups(op_type, end)};
  }
  std::vector<OnnxEntry> entries;
  for (auto& [op_type, entry] : table) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace encore::tools
