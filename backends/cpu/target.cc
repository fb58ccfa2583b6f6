#include "encore/backends/cpu/target.h"

#include <algorithm>
#include <string_view>
#include <thread>

namespace encore::backends::cpu {

Isa IsaOf(const CompileOptions& options) {
  const size_t colon = options.target.find(':');
  if (colon == std::string::npos) return HostCpu().isa;
  return ParseIsa(std::string_view(options.target).substr(colon + 1))
      .value_or(HostCpu().isa);
}

int ThreadsOf(const CompileOptions& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool MayUseVendor(const CompileOptions& options) {
  return IsaOf(options) == HostCpu().isa;
}

}  // namespace encore::backends::cpu
