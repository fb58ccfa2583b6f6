#include "encore/tools/replay/plan_text_file.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_text_parser.h"
#include "encore/runtime/plan/plan_verifier.h"

namespace encore::tools {
namespace {

std::string_view TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()),
          file.bytes().size()};
}

// "PATH:LINE:COLUMN: …".
Status At(const std::string& path, const Status& status) {
  return MakeStatus(status.code(), StrCat(path, ":", Message(status)));
}

}  // namespace

bool IsPlanText(const std::string& path) { return path.ends_with(".plan"); }

StatusOr<std::string> FindingOfPlanText(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const auto plan = runtime::ParsePlanWithoutBlobs(TextOf(*file));
  if (!plan.ok()) return At(path, plan.status());
  return Message(runtime::VerifyPlan(plan->graph, plan->blob_sizes));
}

StatusOr<runtime::CompiledGraph> ReadPlanText(
    const std::string& path, const runtime::CompiledGraph& source) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  std::map<Digest, const runtime::Blob*> blobs;
  for (const runtime::Blob& blob : source.blobs) {
    blobs.emplace(Sha256Of(blob.bytes), &blob);
  }
  auto graph = runtime::ParseCompiledGraphText(
      TextOf(*file), [&](const Digest& digest) -> std::optional<runtime::Blob> {
        const auto it = blobs.find(digest);
        if (it == blobs.end()) return std::nullopt;
        return *it->second;
      });
  if (!graph.ok()) return At(path, graph.status());
  if (const Status plan = runtime::VerifyPlan(*graph); !plan.ok()) {
    return InvalidArgumentError(StrCat(path, ": plan: ", Message(plan)));
  }
  return graph;
}

}  // namespace encore::tools
