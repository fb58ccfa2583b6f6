// Flags about the machine that a verb works on: its threads and its cache.
#ifndef ENCORE_TOOLS_MACHINE_FLAGS_H_
#define ENCORE_TOOLS_MACHINE_FLAGS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "encore/ir/support/status.h"

namespace encore::tools {

struct MachineFlags {
  int threads = 0;
  std::string cache;  // the folder; AddCacheFlag sets the user's
  std::string cache_size = "8GiB";
};

// Add flags to a verb's command line; `flags` outlives `app`.
void AddThreadsFlag(CLI::App& app, MachineFlags* flags);
void AddCacheFlag(CLI::App& app, MachineFlags* flags);
void AddCacheSizeFlag(CLI::App& app, MachineFlags* flags);

// The number of threads asked for; 0 means the cores that this process may use.
// InvalidArgument names the flag.
StatusOr<int> ThreadCount(const MachineFlags& flags);

// Bytes from "4096", "512MiB", "8GiB", "8G"; powers of 1024.
StatusOr<uint64_t> ParseByteCount(const std::string& text);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_MACHINE_FLAGS_H_
