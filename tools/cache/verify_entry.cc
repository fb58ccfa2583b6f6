#include "encore/tools/cache/verify_entry.h"

#include "encore/cache/key/ingredients.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/plan_verifier.h"

namespace encore::tools {
namespace {

// A compiled graph whose checksums are right.
Status VerifyGraph(const std::shared_ptr<const cache::Container>& container,
                   const Digest& key) {
  ENCORE_ASSIGN_OR_RETURN(const cache::KeyIngredients ingredients,
                          cache::ReadEntryIngredients(*container));
  if (!(cache::KeyOf(ingredients) == key)) {
    return DataLossError("section headline: is that of another key");
  }
  ENCORE_ASSIGN_OR_RETURN(const auto bytes,
                          container->Read(cache::SectionType::kCompiledGraph));
  ENCORE_ASSIGN_OR_RETURN(const runtime::CompiledGraph graph,
                          runtime::ParseCompiledGraph(bytes, container));
  return Annotate(runtime::VerifyPlan(graph), "plan");
}

}  // namespace

std::vector<std::string> VerifyEntry(const cache::DiskStore::Entry& entry) {
  const auto container = cache::Container::Open(entry.path);
  if (!container.ok()) return {Message(container.status())};
  std::vector<std::string> problems;
  for (const cache::Section& section : (*container)->sections()) {
    const Status status = (*container)->Verify(section);
    if (!status.ok()) problems.push_back(Message(status));
  }
  const Status address =
      cache::CheckAddress(**container, entry.kind, entry.key);
  if (problems.empty() && address.code() == StatusCode::kDataLoss) {
    problems.push_back(Message(Annotate(address, entry.path)));
  }
  if (problems.empty() && entry.kind == "graph") {
    const Status status = VerifyGraph(*container, entry.key);
    if (!status.ok()) {
      problems.push_back(Message(Annotate(status, entry.path)));
    }
  }
  return problems;
}

}  // namespace encore::tools
