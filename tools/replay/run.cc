#include <chrono>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/replay/calls.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {

StatusOr<int> ReplayRun(ReplayContext& context, const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, LoadFile(context, file));
  const double load_ms = std::chrono::duration<double, std::milli>(
                             std::chrono::steady_clock::now() - begin)
                             .count();
  ENCORE_ASSIGN_OR_RETURN(const auto calls, CallsOf(context, file));
  auto made = MakeCalls(context.flags, *loaded, calls);
  if (!made.ok()) return Annotate(made.status(), path);
  const std::string source = SourceText(*loaded);
  if (context.flags.json.wanted()) {
    Json json;
    json["file"] = path;
    json["kind"] = Name(file.kind);
    json["source"] = source;
    json["load_ms"] = load_ms;
    json["ok"] = made->ok;
    json["calls"] = std::move(made->calls);
    context.flags.json.Write(json);
  }
  if (!context.quiet()) {
    Printf("%s: %zu calls, code from %s, ready in %.1f ms\n%s",
           PrintableName(path).c_str(), calls.size(),
           source == "package" ? "the file"
           : source == "hit"   ? "the cache"
                               : "a compile",
           load_ms, made->text.c_str());
  }
  if (!context.flags.save.empty()) {
    std::vector<std::pair<std::string, Literal>> tensors;
    for (size_t i = 0; i < made->outputs.size(); ++i) {
      tensors.emplace_back(loaded->names().outputs[i], made->outputs[i]);
    }
    ENCORE_RETURN_IF_ERROR(WriteTensors(context.flags.save, tensors));
  }
  return made->ok ? kExitOk : kExitMismatch;
}

}  // namespace encore::tools
