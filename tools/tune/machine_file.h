// Where the measured profile of a user's machine is kept, and what `--machine`
// stands for.
#ifndef ENCORE_TOOLS_TUNE_MACHINE_FILE_H_
#define ENCORE_TOOLS_TUNE_MACHINE_FILE_H_

#include <optional>
#include <string>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"

namespace encore::tools {

// The file of the profile for code of `isa`: $ENCORE_MACHINE/ISA.txt, or
// $XDG_CONFIG_HOME/encore/machine/ISA.txt, or
// ~/.config/encore/machine/ISA.txt; empty where none of them is set or
// ENCORE_MACHINE is "off". No cache lies there, so nothing that bounds or
// empties one removes it.
std::string MachineFile(backends::cpu::Isa isa);

// The profile in a file; nothing where there is no file. Errors of reading;
// InvalidArgument, "FILE: line N: …", where it holds no profile.
StatusOr<std::optional<backends::cpu::MachineProfile>> ReadMachineFile(
    const std::string& path);

// Puts the profile in its place, whole or not at all, and makes the folder.
Status WriteMachineFile(const std::string& path,
                        const backends::cpu::MachineProfile& profile);

// What CompileOptions::machine is for `options.machine` as the command line has
// it: the name of a class as it is, a file's profile as its text; without the
// flag the kept profile of this machine, if there is one for it. The log says
// what stands for a machine of no class, and that a kept profile is another
// machine's. InvalidArgument names the flag and the classes; a kept file that
// holds no profile is an error, which says how to be rid of it.
StatusOr<std::string> MachineOption(const backends::CompileOptions& options);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_TUNE_MACHINE_FILE_H_
