#include "encore/tools/replay/replay_file.h"

#include <string_view>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::tools {
namespace {

using cache::SectionType;

// The compiled graph and the key of an entry, which has nothing else.
Status ReadEntry(ReplayFile* file) {
  ENCORE_ASSIGN_OR_RETURN(const auto headline,
                          file->container->Read(SectionType::kHeadline));
  file->package.ingredients.assign(
      reinterpret_cast<const char*>(headline.data()), headline.size());
  ENCORE_ASSIGN_OR_RETURN(const auto bytes,
                          file->container->Read(SectionType::kCompiledGraph));
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph graph,
                          runtime::ParseCompiledGraph(bytes, file->container));
  file->package.graph =
      std::make_shared<const runtime::CompiledGraph>(std::move(graph));
  return OkStatus();
}

Status ReadContents(ReplayFile* file) {
  if (file->kind == FileKind::kOther) return OkStatus();
  if (file->kind == FileKind::kEntry) {
    ENCORE_RETURN_IF_ERROR(ReadEntry(file));
  } else {
    ENCORE_ASSIGN_OR_RETURN(file->package, cache::ReadPackage(file->container));
  }
  auto ingredients = cache::DecodeIngredients(file->package.ingredients);
  if (!ingredients.ok()) {
    return DataLossError(
        StrCat("section headline: ", Message(ingredients.status())));
  }
  file->ingredients = *std::move(ingredients);
  return OkStatus();
}

}  // namespace

const char* Name(FileKind kind) {
  switch (kind) {
    case FileKind::kEntry:
      return "entry";
    case FileKind::kPackage:
      return "package";
    case FileKind::kRecording:
      return "recording";
    case FileKind::kOther:
      break;
  }
  return "other";
}

std::string ReplayFile::OriginName(uint32_t number) const {
  const auto& origins = package.names.origins;
  return number < origins.size() ? origins[number] : "";
}

FileKind KindOf(const cache::Container& container) {
  if (container.Find(SectionType::kCompiledGraph) == nullptr) {
    return FileKind::kOther;
  }
  if (container.Find(SectionType::kNames) == nullptr) return FileKind::kEntry;
  return container.Find(SectionType::kTensor) == nullptr ? FileKind::kPackage
                                                         : FileKind::kRecording;
}

StatusOr<ReplayFile> OpenReplayFile(const std::string& path) {
  ReplayFile file;
  file.path = path;
  ENCORE_ASSIGN_OR_RETURN(file.container, cache::Container::Open(path));
  file.kind = KindOf(*file.container);
  const Status read = ReadContents(&file);
  if (!read.ok()) {
    // The container's own errors begin with the path.
    return Message(read).starts_with(path) ? read : Annotate(read, path);
  }
  if (!file.package.calls.empty()) file.kind = FileKind::kRecording;
  return file;
}

Status CheckReplayable(const ReplayFile& file) {
  const std::string_view what =
      file.kind == FileKind::kEntry   ? "a cache entry without weights"
      : file.kind == FileKind::kOther ? "no package: it has no compiled graph"
                                      : "";
  if (what.empty()) return OkStatus();
  return InvalidArgumentError(
      StrCat(file.path, ": ", what,
             "; `encore compile MODEL -o FILE` writes a package"));
}

}  // namespace encore::tools
