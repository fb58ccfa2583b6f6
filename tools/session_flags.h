// The flags that verbs which compile have in common: the options of
// backends/options.def, how many threads, and where compiled graphs are kept.
#ifndef ENCORE_TOOLS_SESSION_FLAGS_H_
#define ENCORE_TOOLS_SESSION_FLAGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/machine_flags.h"

namespace encore::tools {

struct SessionFlags {
  // Those with a flag in options.def; OpenSession sets `threads`.
  backends::CompileOptions compile;
  MachineFlags machine;
  std::string rules_file;  // OpenSession reads it to `user_rules`
  bool no_cache = false, check_cache = false, verify = false;
  // Set by verbs that have results before all is kept.
  bool write_behind = false;
};

// Adds them to a verb's command line, a flag for each row of the table that
// names one, with the names of its values and its default; `flags` outlives
// `app`.
void AddSessionFlags(CLI::App& app, SessionFlags* flags);

// `--rules-file`, which AddSessionFlags adds too, and the rules of the file in
// their one spelling: empty for no path.
void AddRulesFileFlag(CLI::App& app, std::string* path);
StatusOr<std::string> UserRules(const std::string& path,
                                backends::Rewrites rewrites);
// The same as rules, each found right (cache/session/checked_rules.h); verdicts
// are kept in the cache's folder, as those of a compile are.
StatusOr<std::vector<opt::TextRule>> CheckedUserRules(
    const std::string& path, backends::Rewrites rewrites,
    const std::string& folder);

// Of `--explain-fusion`, of verbs that compile.
inline constexpr const char* kExplainFusionHelp =
    "print on standard error why each kernel ends where it ends: what it would "
    "cost with each of its neighbors, or which rule keeps them apart";

// A session and the threads that it replays on.
struct ToolSession {
  runtime::ThreadPool threads;
  cache::Session session;

  ToolSession(int thread_count, cache::SessionOptions options)
      : threads(thread_count), session(std::move(options), &threads) {}
};

// InvalidArgument names the flag and what it expects, a value too that the
// target would ignore where options.def refuses that; what is wrong with the
// file of rules, by line, as far as reading it shows (a compile tries them).
StatusOr<std::unique_ptr<ToolSession>> OpenSession(const SessionFlags& flags);

// Values of symbols from NAME=VALUE; the error names the text.
StatusOr<std::map<std::string, int64_t>> ParseBindings(
    const std::vector<std::string>& texts);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_SESSION_FLAGS_H_
