// A `.encore` file as the replay verbs see it.
#ifndef ENCORE_TOOLS_REPLAY_REPLAY_FILE_H_
#define ENCORE_TOOLS_REPLAY_REPLAY_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/package/package.h"
#include "encore/cache/store/container.h"
#include "encore/ir/support/status.h"

namespace encore::tools {

// What the sections of a file make it.
enum class FileKind {
  kEntry,      // of a cache: a compiled graph without weights and names
  kPackage,    // a compiled graph with its weights
  kRecording,  // a package with calls
  kOther,      // prepared weights, artifacts, remembered texts
};
const char* Name(FileKind kind);

struct ReplayFile {
  std::string path;
  FileKind kind = FileKind::kOther;
  std::shared_ptr<const cache::Container> container;
  // All but kOther: the key's ingredients.
  std::optional<cache::KeyIngredients> ingredients;
  // The plan of all but kOther; the rest of packages and recordings.
  cache::Package package;

  bool has_plan() const { return package.graph != nullptr; }
  // The name of a stencil node; empty where it has none.
  std::string OriginName(uint32_t number) const;
};

// What a file is, from its table of sections.
FileKind KindOf(const cache::Container& container);

// Opens and reads a file; every section that is read is verified. NotFound,
// PermissionDenied, or DataLoss that names the section.
StatusOr<ReplayFile> OpenReplayFile(const std::string& path);

// InvalidArgument where the file has no weights and so cannot be replayed.
Status CheckReplayable(const ReplayFile& file);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REPLAY_FILE_H_
