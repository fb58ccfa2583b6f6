#include "encore/tools/tune/machine_file.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/backends/cpu/target.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

namespace cpu = backends::cpu;

constexpr std::string_view kHowTo =
    "`encore tune --machine` measures this machine";

// Whether kernels of the cpu backend may be chosen in such a compile.
bool UsesMachine(const backends::CompileOptions& options) {
  if (!options.placement.empty()) return true;
  const auto backend = backends::FindBackend(options.target);
  return backend.ok() && (*backend)->Uses("machine");
}

// The kept profile of this machine as text; empty where there is none for it.
StatusOr<std::string> KeptMachine(cpu::Isa isa) {
  const std::string path = MachineFile(isa);
  if (path.empty()) return std::string();
  auto kept = ReadMachineFile(path);
  if (!kept.ok()) {
    return InvalidArgumentError(StrCat(Message(kept.status()), "; ", kHowTo,
                                       " again, or remove the file"));
  }
  if (!kept->has_value()) return std::string();
  if ((*kept)->isa != isa || !(*kept)->Covers(cpu::HostCpu())) {
    PrintLog(StrCat(path, " is the profile of another machine; ", kHowTo));
    return std::string();
  }
  return cpu::ToText(**kept);
}

void LogNearest(cpu::Isa isa) {
  const cpu::CpuInfo& host = cpu::HostCpu();
  const cpu::MachineProfile& nearest = cpu::NearestClass(host, isa);
  if (isa == cpu::Isa::kNone || isa > host.isa || nearest.Covers(host)) return;
  PrintLog(StrCat("this CPU (", host.vendor, ", family ", host.family,
                  ", model ", host.model,
                  ") is of no machine class; kernels "
                  "are chosen as for ",
                  nearest.name, "; ", kHowTo));
}

}  // namespace

std::string MachineFile(cpu::Isa isa) {
  const auto set = [](const char* name) -> std::string_view {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  const std::string file = StrCat("/", cpu::Name(isa), ".txt");
  if (const auto folder = set("ENCORE_MACHINE"); !folder.empty()) {
    return folder == "off" ? "" : StrCat(folder, file);
  }
  if (const auto xdg = set("XDG_CONFIG_HOME"); !xdg.empty()) {
    return StrCat(xdg, "/encore/machine", file);
  }
  if (const auto home = set("HOME"); !home.empty()) {
    return StrCat(home, "/.config/encore/machine", file);
  }
  return "";
}

StatusOr<std::optional<cpu::MachineProfile>> ReadMachineFile(
    const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (file.status().code() == StatusCode::kNotFound) return {std::nullopt};
  ENCORE_RETURN_IF_ERROR(file.status());
  // A copy: who writes to the file meanwhile changes nothing.
  const auto bytes = (*file)->bytes();
  if (bytes.size() > cpu::kMostMachineBytes) {
    return InvalidArgumentError(StrCat(path, ": ", bytes.size(),
                                       " bytes, a machine profile has at most ",
                                       cpu::kMostMachineBytes));
  }
  const std::string text(reinterpret_cast<const char*>(bytes.data()),
                         bytes.size());
  auto profile = cpu::ParseMachine(text);
  Status status = profile.status();
  // With costs of a class that there is.
  if (status.ok()) status = cpu::FindMachine(cpu::ToText(*profile)).status();
  if (!status.ok()) {
    return InvalidArgumentError(StrCat(path, ": ", Message(status)));
  }
  return std::optional<cpu::MachineProfile>(*std::move(profile));
}

Status WriteMachineFile(const std::string& path,
                        const cpu::MachineProfile& profile) {
  const std::string text = cpu::ToText(profile);
  // What is written is read by each later compile.
  const auto read = cpu::FindMachine(text);
  if (!read.ok()) {
    return InvalidArgumentError(
        StrCat(path, ": not written: ", Message(read.status())));
  }
  if (cpu::ToText(**read) != text) {
    return InvalidArgumentError(StrCat(
        path,
        ": not written: it would be read as another machine: ", Quote(text)));
  }
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  ENCORE_RETURN_IF_ERROR(MakeFolders(folder));
  return WriteWholeFile(path, text);
}

StatusOr<std::string> MachineOption(const backends::CompileOptions& options) {
  const std::string& flag = options.machine;
  if (flag.empty()) {
    if (!UsesMachine(options)) return std::string();
    const cpu::Isa isa = cpu::IsaOf(options);
    ENCORE_ASSIGN_OR_RETURN(std::string kept, KeptMachine(isa));
    if (kept.empty()) LogNearest(isa);
    return kept;
  }
  const Status unknown = cpu::FindMachine(flag).status();
  if (unknown.ok()) return flag;
  ENCORE_ASSIGN_OR_RETURN(const auto profile, ReadMachineFile(flag));
  if (!profile.has_value()) {
    return InvalidArgumentError(StrCat(
        "--machine ", flag, ": there is no such file, and ", Message(unknown)));
  }
  return cpu::ToText(*profile);
}

}  // namespace encore::tools
