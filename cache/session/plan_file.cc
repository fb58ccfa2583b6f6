#include "encore/cache/session/plan_file.h"

#include <string_view>
#include <utility>

#include "encore/cache/session/plan_maker.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {

Status SavePlan(Session& session, const std::string& path, const Graph& graph,
                const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  ENCORE_RETURN_IF_ERROR(CheckKeyable(request));
  ENCORE_ASSIGN_OR_RETURN(const MeasuredPlan plan,
                          session.graphs().PlanOf(request));
  return WriteFile(
      MakeEntry(request.ingredients, *plan.graph, plan.measurements), path);
}

StatusOr<bool> LoadPlan(Session& session, const std::string& path,
                        const Graph& graph, CodeTrust trust,
                        const LoadOptions& options) {
  const auto none = [&](std::string_view why) {
    const Log& log = session.options().log;
    if (log) log(StrCat("no plan from ", path, ": ", why));
    return false;
  };
  auto container = Container::Open(path);
  if (container.status().code() == StatusCode::kNotFound) {
    return none("it is not there");
  }
  if (!container.ok()) return container.status();
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  const Status fits = CheckEntry(**container, request.ingredients);
  if (fits.code() == StatusCode::kFailedPrecondition) {
    return none(Message(fits));
  }
  ENCORE_RETURN_IF_ERROR(fits);
  if (trust == CodeTrust::kRun) {
    ENCORE_ASSIGN_OR_RETURN(RecalledPlan recalled,
                            session.maker().Recall(*std::move(container)));
    session.graphs().ToMemory(
        request, session.maker().Use(request, recalled.plan,
                                     std::move(recalled.executable),
                                     FoundIn::kDisk, CodeOrigin::kForeign));
    return true;
  }
  ENCORE_ASSIGN_OR_RETURN(const MeasurementTable measurements,
                          ReadEntryMeasurements(**container));
  if (measurements.rows.empty()) {
    ENCORE_RETURN_IF_ERROR(session.graphs().GetOrCompile(request).status());
    return true;
  }
  // What somebody else measured decides in this session alone.
  ENCORE_ASSIGN_OR_RETURN(
      const MeasuredPlan plan,
      session.maker().CompileRecorded(request, measurements));
  ENCORE_ASSIGN_OR_RETURN(
      const CompiledPtr compiled,
      session.maker().Load(plan, request, FoundIn::kCompiled));
  session.graphs().ToMemory(request, compiled);
  return true;
}

}  // namespace encore::cache
