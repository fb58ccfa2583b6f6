#include "encore/tools/replay/own_code.h"

#include "encore/backends/devices.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {

StatusOr<std::shared_ptr<const cache::Loaded>> LoadOwnCode(
    const ReplayFile& file, const LoadRequest& request,
    runtime::ThreadPool* threads) {
  ENCORE_RETURN_IF_ERROR(CheckReplayable(file));
  if (!request.trust) {
    const Status own = cache::CheckLiesInStore(*file.container, file.path,
                                               request.machine.cache);
    if (!own.ok()) {
      return PermissionDeniedError(StrCat(
          file.path, ": its code runs only from a store of your own, and ",
          Message(own),
          ". --trust runs it all the same; a file of mode 600 in a "
          "folder of mode 700 given with --cache needs no --trust"));
    }
  }
  auto loaded = cache::LoadPackage(file.package, backends::NewDevices, threads);
  if (loaded.ok()) return loaded;
  return Annotate(loaded.status(), file.path);
}

}  // namespace encore::tools
