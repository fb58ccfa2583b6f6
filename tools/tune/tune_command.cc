#include "encore/tools/tune/tune_command.h"

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/measure/measure_machine.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/machine_flags.h"
#include "encore/tools/terminal.h"
#include "encore/tools/tune/machine_file.h"

namespace encore::tools {
namespace {

namespace cpu = backends::cpu;

struct Flags {
  MachineFlags machine;
  bool measure = false;
  std::string output;
};

Status Tune(const Flags& flags) {
  if (!flags.measure) {
    return InvalidArgumentError(
        "there is nothing to tune: --machine measures this machine (kernels of "
        "a model are measured by `encore run MODEL --tune SECONDS`)");
  }
  ENCORE_ASSIGN_OR_RETURN(const int threads, ThreadCount(flags.machine));
  const std::string path =
      flags.output.empty() ? MachineFile(cpu::HostCpu().isa) : flags.output;
  if (path.empty()) {
    return InvalidArgumentError(
        "there is no place to keep the profile in; name a file with -o, or a "
        "folder with ENCORE_MACHINE");
  }
  // What was kept and is broken is made anew.
  const auto read = ReadMachineFile(path);
  const cpu::MachineProfile* kept = nullptr;
  if (read.ok() && read->has_value() && (*read)->Covers(cpu::HostCpu()) &&
      (*read)->cores == threads) {
    kept = &**read;
  }
  ENCORE_ASSIGN_OR_RETURN(const cpu::MachineProfile profile,
                          cpu::MeasureMachine(kept, threads, PrintLog));
  ENCORE_RETURN_IF_ERROR(WriteMachineFile(path, profile));
  Print(StrCat(cpu::ToText(profile), "\nwritten to ", path, "\n"));
  return OkStatus();
}

}  // namespace

int TuneMain(int argc, char** argv) {
  CLI::App app(
      "Measures this machine, so that kernels are chosen by what it does in a "
      "second.\n\nThe profile is kept in the user's own folder "
      "(~/.config/encore/machine; ENCORE_MACHINE names another, \"off\" none), "
      "and used by every later compile for this machine. Run it while the "
      "machine does nothing else.",
      "encore tune");
  Flags flags;
  app.add_flag("--machine", flags.measure, "measure this machine's rates");
  app.add_option("-o,--output", flags.output,
                 "write the profile to this file instead, for --machine FILE")
      ->type_name("FILE");
  AddThreadsFlag(app, &flags.machine);
  if (const auto code = ParseArguments(app, argc, argv)) return *code;
  const Status status = Tune(flags);
  return status.ok() ? kExitOk : Fail(app, status);
}

}  // namespace encore::tools
