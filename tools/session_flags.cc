#include "encore/tools/session_flags.h"

#include <utility>

#include "encore/backends/options.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

StatusOr<backends::CompileOptions> CompileOptionsOf(const SessionFlags& flags) {
  backends::CompileOptions options;
  options.target = flags.target;
  options.placement = flags.placement;
  options.deterministic = flags.deterministic;
  options.tune_seconds = flags.tune_seconds;
  const auto precision = backends::ParsePrecision(flags.precision);
  const auto rewrites = backends::ParseRewrites(flags.rewrites);
  const auto kernels = backends::ParseCpuKernels(flags.cpu_kernels);
  if (!kernels) {
    return InvalidArgumentError(StrCat("--cpu-kernels ", flags.cpu_kernels,
                                       ": expected auto, generated or vendor"));
  }
  if (!precision) {
    return InvalidArgumentError(StrCat("--precision ", flags.precision,
                                       ": expected f32, tf32, bf16 or f16"));
  }
  if (!rewrites) {
    return InvalidArgumentError(
        StrCat("--rewrites ", flags.rewrites,
               ": expected exact, reassociate or fast"));
  }
  options.precision = *precision;
  options.rewrites = *rewrites;
  options.cpu_kernels = *kernels;
  return options;
}

}  // namespace

void AddSessionFlags(CLI::App& app, SessionFlags* flags) {
  app.add_option("--target", flags->target,
                 "cpu, cpu:ISA (avx2, avx512) or ref")
      ->capture_default_str();
  app.add_option("--placement", flags->placement,
                 "NAME=BACKEND,… for inputs, outputs or origins");
  AddThreadsFlag(app, &flags->machine);
  app.add_option("--precision", flags->precision,
                 "f32, tf32, bf16 or f16: the least for products of f32; no "
                 "target goes below f32 yet")
      ->capture_default_str();
  app.add_option("--rewrites", flags->rewrites,
                 "exact, reassociate or fast: what is allowed; only exact ones "
                 "are made yet")
      ->capture_default_str();
  app.add_option("--cpu-kernels", flags->cpu_kernels,
                 "for products and convolutions: auto, generated or vendor")
      ->capture_default_str();
  app.add_flag("--deterministic", flags->deterministic,
               "bit-equal results for any number of threads");
  app.add_option("--tune", flags->tune_seconds,
                 "seconds to time kernels for, where there is a choice that "
                 "is not measured yet")
      ->check(NonNegativeNumber());
  AddCacheFlag(app, &flags->machine);
  AddCacheSizeFlag(app, &flags->machine);
  app.add_flag("--no-cache", flags->no_cache, "keep nothing on disk");
  app.add_flag("--check-cache", flags->check_cache,
               "compile on a hit too, and compare");
  app.add_flag("--verify", flags->verify, "check every checksum");
}

StatusOr<std::unique_ptr<ToolSession>> OpenSession(const SessionFlags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const int threads, ThreadCount(flags.machine));
  ENCORE_ASSIGN_OR_RETURN(backends::CompileOptions compile,
                          CompileOptionsOf(flags));
  ENCORE_ASSIGN_OR_RETURN(const uint64_t max_bytes,
                          ParseByteCount(flags.machine.cache_size));
  compile.threads = threads;
  cache::SessionOptions options = cache::StandardSessionOptions(
      compile, flags.no_cache ? "" : flags.machine.cache, max_bytes, PrintLog);
  options.check = flags.check_cache;
  options.verify = flags.verify;
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
