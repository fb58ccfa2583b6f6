// Any bytes: an error or a valid problem, but for costs whose sum is too large,
// never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"
#include "encore/opt/extract/egraph_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ex = encore::opt::extract;
  auto named = ex::ParseEgraphJson(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (!named.ok() || ex::Validate(named->problem).ok()) return 0;
  for (double& cost : named->problem.cost) cost *= 1e-20;
  ENCORE_CHECK_OK(ex::Validate(named->problem));
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
