#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/proto/from_proto.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/wire_mutations.h"
#include "encore/ir/testing/round_trip.h"

// Any bytes are refused or give a graph for which the laws hold.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph =
      encore::FromProto({reinterpret_cast<const char*>(data), size});
  if (!graph.ok()) return 0;
  const auto broken = encore::BrokenLaw(*graph);
  ENCORE_CHECK(!broken.has_value()) << *broken;
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateMessage, encore::CrossMessages)
