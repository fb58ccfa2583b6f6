#include "encore/backends/cpu/profile/costs.h"

#include <cstddef>
#include <string_view>

#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

struct Row {
  std::string_view machine;
  double cycles[kTemplates];
};

constexpr Row kRows[] = {
#define ENCORE_TEMPLATE_COSTS(machine, ...) {machine, {__VA_ARGS__}},
#include "encore/backends/cpu/profile/costs.def"
#undef ENCORE_TEMPLATE_COSTS
};

}  // namespace

double CycleSeconds(Template kind, const MachineProfile& machine) {
  for (const Row& row : kRows) {
    if (row.machine != machine.costs) continue;
    return row.cycles[static_cast<size_t>(kind)] / machine.VectorsPerSecond();
  }
  // FindMachine takes no profile without.
  ENCORE_CHECK(false) << "no costs of " << machine.costs;
  return 0;
}

}  // namespace encore::backends::cpu
