#include "encore/backends/cpu/target.h"

#include <optional>
#include <string_view>

#include "encore/backends/target_text.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

std::optional<Isa> IsaOfTarget(const CompileOptions& options) {
  return ParseIsa(VariantOf(options, "cpu"));
}

// The machine that the options name; null where they name none.
const MachineProfile* Named(const CompileOptions& options) {
  if (options.machine.empty()) return nullptr;
  const auto found = FindMachine(options.machine);
  if (!found.ok()) return nullptr;
  const Isa isa = IsaOfTarget(options).value_or((*found)->isa);
  return (*found)->isa == isa ? *found : nullptr;
}

}  // namespace

Status CheckMachine(const CompileOptions& options) {
  if (options.machine.empty()) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(const MachineProfile* machine,
                          FindMachine(options.machine));
  const Isa isa = IsaOfTarget(options).value_or(machine->isa);
  if (machine->isa == isa) return OkStatus();
  return InvalidArgumentError(
      StrCat("machine ", Quote(machine->name), " is described for code of ",
             Name(machine->isa), ", the target is ", options.target, ": leave ",
             Name(isa), " out, or name a machine that is described for it"));
}

Isa IsaOf(const CompileOptions& options) {
  if (const auto isa = IsaOfTarget(options)) return *isa;
  if (const MachineProfile* named = Named(options)) return named->isa;
  return HostCpu().isa;
}

const MachineProfile& MachineOf(const CompileOptions& options) {
  if (const MachineProfile* named = Named(options)) return *named;
  return NearestClass(HostCpu(), IsaOf(options));
}

CpuInfo CpuOf(const CompileOptions& options) {
  CpuInfo cpu = HostCpu();
  cpu.isa = IsaOf(options);
  const MachineProfile* named = Named(options);
  if (named != nullptr && !named->Covers(HostCpu())) {
    cpu.l1_bytes = named->cache(MemoryLevel::kL1);
    cpu.l2_bytes = named->cache(MemoryLevel::kL2);
    cpu.l3_bytes = named->cache(MemoryLevel::kL3);
  }
  return cpu;
}

bool MayUseVendor(const CompileOptions& options) {
  const MachineProfile* named = Named(options);
  return IsaOf(options) == HostCpu().isa &&
         (named == nullptr || named->Covers(HostCpu()));
}

}  // namespace encore::backends::cpu
