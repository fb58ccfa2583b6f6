#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/plan_text_file.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

// An entry with another compiled graph. It has no address: it is no entry of
// the store that the other one may lie in.
Status WriteEntry(const cache::Package& package,
                  const cache::Container& container, const std::string& path) {
  using cache::SectionType;
  cache::ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, package.ingredients);
  const std::vector<std::byte> graph =
      runtime::SerializeCompiledGraph(*package.graph);
  writer.Add(SectionType::kCompiledGraph, graph);
  if (container.Find(SectionType::kMeasurements) != nullptr) {
    ENCORE_ASSIGN_OR_RETURN(const std::span<const std::byte> measurements,
                            container.Read(SectionType::kMeasurements));
    writer.Add(SectionType::kMeasurements, measurements);
  }
  return cache::WriteFile(writer, path);
}

}  // namespace

StatusOr<int> ReplayAssemble(ReplayContext& context, const std::string& path) {
  const std::string& output = context.flags.output;
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file,
                          OpenReplayFile(context.flags.blobs));
  if (!file.has_plan()) {
    return InvalidArgumentError(StrCat(file.path, ": has no compiled graph"));
  }
  auto graph = ReadPlanText(path, *file.package.graph);
  if (graph.status().code() == StatusCode::kNotFound) {
    return NotFoundError(
        StrCat(Message(graph.status()), " in ", file.path,
               "; --blobs takes the file that `encore replay dump` was given"));
  }
  ENCORE_RETURN_IF_ERROR(graph.status());
  cache::Package package = file.package;
  package.graph =
      std::make_shared<const runtime::CompiledGraph>(*std::move(graph));
  package.derived.clear();  // what another prepare plan made
  if (file.kind == FileKind::kEntry) {
    ENCORE_RETURN_IF_ERROR(WriteEntry(package, *file.container, output));
  } else {
    if (const Status fits = cache::CheckPackage(package); !fits.ok()) {
      return InvalidArgumentError(
          StrCat(path, ": does not fit ", file.path, ": ", Message(fits)));
    }
    ENCORE_RETURN_IF_ERROR(cache::WritePackage(package, output));
  }
  if (context.flags.json.wanted()) {
    Json json;
    json["file"] = path;
    json["blobs"] = file.path;
    json["output"] = output;
    json["kind"] = Name(file.kind);
    context.flags.json.Write(json);
  }
  if (!context.quiet()) {
    Printf("%s: %s of %s\n", PrintableName(output).c_str(), Name(file.kind),
           PrintableName(path).c_str());
  }
  return kExitOk;
}

}  // namespace encore::tools
