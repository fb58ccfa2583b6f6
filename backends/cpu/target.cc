#include "encore/backends/cpu/target.h"

#include <algorithm>
#include <thread>

#include "encore/backends/target_text.h"

namespace encore::backends::cpu {

Isa IsaOf(const CompileOptions& options) {
  return ParseIsa(VariantOf(options, "cpu")).value_or(HostCpu().isa);
}

int ThreadsOf(const CompileOptions& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool MayUseVendor(const CompileOptions& options) {
  return IsaOf(options) == HostCpu().isa;
}

}  // namespace encore::backends::cpu
