// What code a compiled graph has for CUDA devices.
#ifndef ENCORE_TOOLS_REPLAY_DEVICE_CODE_H_
#define ENCORE_TOOLS_REPLAY_DEVICE_CODE_H_

#include <string>

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/tools/json_output.h"

namespace encore::tools {

// A row for each backend, sort of image ("cubin", "ptx") and architecture: how
// many modules have one, their bytes, and the least driver that loads them
// ("13.0"). Images of modules that cannot be read are of sort "unreadable".
// Safe on any graph; `graph` may be one that no verifier has seen.
Json DeviceCodeJson(const runtime::CompiledGraph& graph);

// A line for each row.
std::string DeviceCodeText(const Json& rows);

// The recipes for libraries' kernels: a row for each backend, library, its
// version and the generated kernel that is beside them, with how many there
// are. Those that cannot be read are of library "unreadable". As safe.
Json LibraryRecipesJson(const runtime::CompiledGraph& graph);
std::string LibraryRecipesText(const Json& rows);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_DEVICE_CODE_H_
