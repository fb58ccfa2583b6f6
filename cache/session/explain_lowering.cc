#include "encore/cache/session/explain_lowering.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/session/session_request.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"

namespace encore::cache {

StatusOr<backends::LoweringReport> ExplainLowering(
    const Session& session, const Graph& graph, const LoadOptions& options,
    std::string (*shown)(std::string_view name)) {
  const auto& report_lowering = session.options().compiler.report_lowering;
  if (!report_lowering) {
    return FailedPreconditionError("the compiler does not say what it chooses");
  }
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  ENCORE_ASSIGN_OR_RETURN(
      const Graph canonical,
      ReadStencil(request.ingredients.stencil, request.ingredients.constants));
  backends::LoweringReport report;
  report.explain = true;
  const std::vector<std::string>& origins = request.names.origins;
  report.name = [&origins, shown](std::string_view origin) {
    const std::optional<uint32_t> number = StencilNumber(origin);
    const bool named =
        number && *number < origins.size() && !origins[*number].empty();
    return shown(named ? origins[*number] : origin);
  };
  ENCORE_RETURN_IF_ERROR(report_lowering(canonical, request.options, &report));
  report.name = nullptr;
  return report;
}

}  // namespace encore::cache
