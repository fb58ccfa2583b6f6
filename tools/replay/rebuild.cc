#include "encore/tools/replay/rebuild.h"

#include "encore/backends/backends.h"
#include "encore/cache/package/package_graph.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/machine_flags.h"
#include "encore/tools/replay/own_code.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

StatusOr<std::shared_ptr<const cache::Loaded>> Rebuild(
    const ReplayFile& file, const LoadRequest& request,
    runtime::ThreadPool* threads) {
  ENCORE_RETURN_IF_ERROR(cache::CheckPackage(file.package));
  // Nothing is worth compiling for devices that are not here. They are held
  // meanwhile: to start one takes its time.
  ENCORE_ASSIGN_OR_RETURN(
      const auto devices,
      backends::NewDevices(*file.package.graph, backends::AllBackends()));
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, cache::GraphOf(file.package));
  ENCORE_ASSIGN_OR_RETURN(backends::CompileOptions options,
                          cache::OptionsOf(file.package));
  options.threads = threads->size();
  ENCORE_ASSIGN_OR_RETURN(const uint64_t max_bytes,
                          ParseByteCount(request.machine.cache_size));
  cache::Session session(
      cache::StandardSessionOptions(options, request.machine.cache, max_bytes,
                                    PrintLog),
      threads);
  cache::LoadOptions load;
  load.files = file.package.files;
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(graph, load));
  return loaded->WithNames(cache::NamesOf(file.package));
}

}  // namespace

StatusOr<std::shared_ptr<const cache::Loaded>> LoadOrRebuild(
    const ReplayFile& file, const LoadRequest& request,
    runtime::ThreadPool* threads) {
  ENCORE_RETURN_IF_ERROR(CheckReplayable(file));
  auto loaded = LoadOwnCode(file, request, threads);
  switch (loaded.status().code()) {
    case StatusCode::kFailedPrecondition:  // for another machine
      PrintLog(StrCat(Message(loaded.status()),
                      "; the graph in the file is compiled instead"));
      [[fallthrough]];
    case StatusCode::kPermissionDenied:  // not trusted
    case StatusCode::kNotFound: {        // for a backend that is not here
      auto rebuilt = Rebuild(file, request, threads);
      if (rebuilt.ok()) return rebuilt;
      return Annotate(rebuilt.status(), file.path);
    }
    default:
      return loaded;
  }
}

}  // namespace encore::tools
