#include "encore/tools/machine_flags.h"

#include <sched.h>

#include <algorithm>
#include <string_view>

#include "encore/cache/store/cache_folder.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {

void AddThreadsFlag(CLI::App& app, MachineFlags* flags) {
  app.add_option("--threads", flags->threads,
                 "0: the cores this process may use")
      ->capture_default_str();
}

void AddCacheFlag(CLI::App& app, MachineFlags* flags) {
  flags->cache = cache::DefaultCacheFolder();
  app.add_option("--cache", flags->cache, "the cache's folder")
      ->capture_default_str();
}

void AddCacheSizeFlag(CLI::App& app, MachineFlags* flags) {
  app.add_option("--cache-size", flags->cache_size,
                 "bytes that the cache may take on disk")
      ->capture_default_str();
}

StatusOr<int> ThreadCount(const MachineFlags& flags) {
  const int asked = flags.threads;
  constexpr int kMost = 1024;
  if (asked < 0 || asked > kMost) {
    return InvalidArgumentError(
        StrCat("--threads ", asked, ": expected 0 to ", kMost));
  }
  if (asked > 0) return asked;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::clamp(CPU_COUNT(&cores), 1, kMost);
}

StatusOr<uint64_t> ParseByteCount(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::string_view number = text;
  int shift = 0;
  if (number.ends_with("iB")) number.remove_suffix(2);
  if (!number.empty()) {
    const size_t unit = kUnits.find(number.back());
    if (unit != std::string_view::npos) {
      number.remove_suffix(1);
      shift = 10 * (static_cast<int>(unit) + 1);
    }
  }
  const auto value = ParseInt64(number);
  if (!value || *value < 0 || *value > (INT64_MAX >> shift)) {
    return InvalidArgumentError(
        StrCat(Quote(text), ": expected a number of bytes, as 4096 or 8GiB"));
  }
  return static_cast<uint64_t>(*value) << shift;
}

}  // namespace encore::tools
