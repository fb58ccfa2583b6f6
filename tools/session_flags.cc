#include "encore/tools/session_flags.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/backends/options.h"
#include "encore/cache/session/checked_rules.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/user_rules.h"
#include "encore/tools/command.h"
#include "encore/tools/terminal.h"
#include "encore/tools/tune/machine_file.h"

namespace encore::tools {
namespace {

void AddFlag(CLI::App& app, const std::string& flag, const std::string& help,
             bool* value) {
  app.add_flag(flag, *value, help);
}
void AddFlag(CLI::App& app, const std::string& flag, const std::string& help,
             std::string* value) {
  app.add_option(flag, *value, help)->capture_default_str();
}
void AddFlag(CLI::App& app, const std::string& flag, const std::string& help,
             int64_t* value) {
  app.add_option(flag, *value, help)
      ->check(WholeNumber())
      ->capture_default_str();
}
void AddFlag(CLI::App& app, const std::string& flag, const std::string& help,
             double* value) {
  app.add_option(flag, *value, help)
      ->check(NonNegativeNumber())
      ->capture_default_str();
}
template <typename Enum>
  requires std::is_enum_v<Enum>
void AddFlag(CLI::App& app, const std::string& flag, const std::string& help,
             Enum* value) {
  const auto names = backends::ValueNames<Enum>();
  app.add_option_function<std::string>(
         flag,
         [value](const std::string& text) {
           *value = backends::ParseValue<Enum>(text).value_or(*value);
         },
         help)
      ->check(
          CLI::IsMember(std::vector<std::string>(names.begin(), names.end())))
      ->default_str(std::string(backends::Name(*value)));
}

}  // namespace

void AddRulesFileFlag(CLI::App& app, std::string* path) {
  app.add_option("--rules-file", *path,
                 "rewrite rules beside those of the rule book, used by their "
                 "tags as --rewrites says; each is tried before it is used")
      ->type_name("FILE");
}

StatusOr<std::string> UserRules(const std::string& path,
                                backends::Rewrites rewrites) {
  if (path.empty()) return std::string();
  if (rewrites == backends::Rewrites::kNone) {
    return InvalidArgumentError(
        StrCat("--rules-file ", path,
               ": --rewrites none uses no rules; leave one of the two out"));
  }
  return opt::ReadRulesFile(path);
}

StatusOr<std::vector<opt::TextRule>> CheckedUserRules(
    const std::string& path, backends::Rewrites rewrites,
    const std::string& folder) {
  ENCORE_ASSIGN_OR_RETURN(const std::string text, UserRules(path, rewrites));
  if (text.empty()) return std::vector<opt::TextRule>();
  const cache::SessionOptions session =
      cache::StandardSessionOptions({}, folder);
  std::optional<cache::DiskArtifactStore> store;
  if (session.disk != nullptr) store.emplace(session.disk);
  return cache::CheckedRules(text, store ? &*store : nullptr);
}

void AddSessionFlags(CLI::App& app, SessionFlags* flags) {
  backends::VisitOptions(
      flags->compile, [&](const backends::OptionInfo& info, auto& value) {
        if (info.flag.empty()) return;
        AddFlag(app, std::string(info.flag), std::string(info.help), &value);
      });
  AddRulesFileFlag(app, &flags->rules_file);
  AddThreadsFlag(app, &flags->machine);
  AddCacheFlag(app, &flags->machine);
  AddCacheSizeFlag(app, &flags->machine);
  app.add_flag("--no-cache", flags->no_cache, "keep nothing on disk");
  app.add_flag("--check-cache", flags->check_cache,
               "compile on a hit too, and compare");
  app.add_flag("--verify", flags->verify, "check every checksum");
}

StatusOr<std::unique_ptr<ToolSession>> OpenSession(const SessionFlags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const int threads, ThreadCount(flags.machine));
  backends::CompileOptions compile = flags.compile;
  ENCORE_ASSIGN_OR_RETURN(compile.user_rules,
                          UserRules(flags.rules_file, compile.rewrites));
  ENCORE_RETURN_IF_ERROR(backends::CheckUsed(compile));
  ENCORE_ASSIGN_OR_RETURN(compile.machine, MachineOption(compile));
  ENCORE_ASSIGN_OR_RETURN(const uint64_t max_bytes,
                          ParseByteCount(flags.machine.cache_size));
  compile.threads = threads;
  cache::SessionOptions options = cache::StandardSessionOptions(
      compile, flags.no_cache ? "" : flags.machine.cache, max_bytes, PrintLog);
  options.check = flags.check_cache;
  options.verify = flags.verify;
  options.write_behind = flags.write_behind;
  return std::make_unique<ToolSession>(threads, std::move(options));
}

StatusOr<std::map<std::string, int64_t>> ParseBindings(
    const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> bindings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const auto value =
        equals == std::string::npos
            ? std::nullopt
            : ParseInt64(std::string_view(text).substr(equals + 1));
    if (!value || *value < 0) {
      return InvalidArgumentError(
          StrCat("--bind ", text, ": expected NAME=VALUE"));
    }
    const auto [bound, added] =
        bindings.try_emplace(text.substr(0, equals), *value);
    if (!added && bound->second != *value) {
      return InvalidArgumentError(StrCat("--bind ", text, ": ", bound->first,
                                         " is bound to ", bound->second));
    }
  }
  return bindings;
}

}  // namespace encore::tools
