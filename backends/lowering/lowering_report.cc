#include "encore/backends/lowering/lowering_report.h"

#include <cstdio>

#include "encore/ir/support/strings.h"

namespace encore::backends {

std::string Microseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g us", seconds * 1e6);
  return text;
}

std::string FusionText(const LoweringReport& report) {
  std::string text;
  for (const ScopeReport& scope : report.scopes) {
    StrAppend(&text, scope.place.empty() ? "the graph" : scope.place, ": ",
              scope.kernels, " kernels, ", Microseconds(scope.partition.chosen),
              " estimated");
    if (scope.partition.bound) {
      StrAppend(&text, ", greedily ", Microseconds(scope.partition.greedy),
                ", no choice below ", Microseconds(*scope.partition.bound));
    }
    StrAppend(&text, "\n", scope.fusion);
  }
  return text;
}

}  // namespace encore::backends
