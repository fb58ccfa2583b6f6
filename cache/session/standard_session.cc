#include "encore/cache/session/standard_session.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/target_text.h"
#include "encore/cache/session/checked_rules.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {

Compiler StandardCompiler() { return CompilerOf(backends::AllBackends()); }

Compiler CompilerOf(std::span<const backends::Backend* const> all) {
  Compiler compiler;
  compiler.compile =
      [all](const Graph& graph, const backends::CompileOptions& options,
            backends::ArtifactStore* store,
            opt::PassObserver* passes) -> StatusOr<runtime::CompiledGraph> {
    ENCORE_RETURN_IF_ERROR(CheckedRules(options.user_rules, store).status());
    return backends::Compile(graph, options, all, store, passes);
  };
  compiler.report_lowering = [all](const Graph& graph,
                                   const backends::CompileOptions& options,
                                   backends::LoweringReport* report) {
    return backends::ReportLowering(graph, options, all, report);
  };
  compiler.devices = [all](const runtime::CompiledGraph& graph) {
    return backends::NewDevices(graph, all);
  };
  compiler.target =
      [all](const backends::CompileOptions& options) -> StatusOr<Target> {
    ENCORE_ASSIGN_OR_RETURN(std::vector<const backends::Backend*> used,
                            backends::FindBackends(options.target, all));
    ENCORE_RETURN_IF_ERROR(backends::CheckVariants(options));
    for (const backends::Backend* backend : used) {
      ENCORE_RETURN_IF_ERROR(backend->Check(options));
    }
    // Parts may be placed on any of the others.
    if (!options.placement.empty()) {
      std::ranges::copy_if(all, std::back_inserter(used), [&](const auto* one) {
        return std::ranges::find(used, one) == used.end();
      });
    }
    Target target;
    for (const backends::Backend* backend : used) {
      for (auto& ingredient : backend->Target(options)) {
        target.push_back(std::move(ingredient));
      }
    }
    return target;
  };
  return compiler;
}

SessionOptions StandardSessionOptions(const backends::CompileOptions& options,
                                      const std::string& folder,
                                      uint64_t max_bytes, Log log) {
  SessionOptions session;
  session.log = std::move(log);
  std::vector<std::string> unused;
  session.compile = backends::UsedOptions(options, &unused);
  for (const std::string& name : unused) {
    session.log(StrCat("option ", name, ": nothing depends on it for target ",
                       options.target, " yet; going on without"));
  }
  session.compiler = StandardCompiler();
  if (folder.empty()) return session;
  StatusOr<std::shared_ptr<DiskStore>> disk = DiskStore::Open(
      {.folder = folder, .max_bytes = max_bytes, .log = session.log});
  if (disk.ok()) {
    session.disk = *std::move(disk);
  } else {
    session.log(StrCat("nothing is kept on disk: ", Message(disk.status())));
  }
  return session;
}

}  // namespace encore::cache
