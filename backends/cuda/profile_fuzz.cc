#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/backends/cuda/profile.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"

// Any text is refused or gives a profile whose rates can be computed with.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = encore::backends::cuda::ParseProfile(text);
  if (!profile.ok()) return 0;
  ENCORE_CHECK(profile->flops() > 0 && profile->bandwidth > 0);
  ENCORE_CHECK(profile->architecture.number() >= 80);
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
