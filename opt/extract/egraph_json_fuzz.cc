// Any bytes: an error or a valid problem, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/support/check.h"
#include "encore/opt/extract/egraph_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ex = encore::opt::extract;
  const auto named = ex::ParseEgraphJson(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (named.ok()) ENCORE_CHECK_OK(ex::Validate(named->problem));
  return 0;
}
