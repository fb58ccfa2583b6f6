// Compiled graphs as bytes, mutated field by field: one that is read and
// verified is what its bytes and its text say, and does no harm to its memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/field_mutations.h"
#include "encore/runtime/testing/plan_mutations.h"
#include "encore/runtime/testing/shadow_executor.h"
#include "encore/runtime/testing/text_law.h"

namespace {

using namespace encore::runtime;  // NOLINT: one file, two functions

constexpr int64_t kMostBytes = 4096;

// Whether the shadow executor can tell: it keeps every byte many times.
bool IsSmall(const CompiledGraph& graph) {
  return graph.slots.size() < 256 &&
         std::ranges::all_of(
             graph.slots,
             [](const Slot& slot) {
               return slot.bytes.is_constant() &&
                      slot.bytes.constant() <= kMostBytes;
             });
}

std::string MutateGraph(std::string bytes, size_t max_size,
                        std::mt19937& random) {
  auto graph = ParseCompiledGraph(std::as_bytes(std::span(bytes)), nullptr);
  if (!graph.ok() || random() % 16 == 0) {
    encore::MutateBytes(&bytes, max_size, random);
    return bytes;
  }
  const bool has_steps = !graph->plans.empty() && !graph->slots.empty();
  if (has_steps && random() % 2 == 0) {
    MutatePlan(&*graph, random);
  } else {
    MutateField(&*graph, random);
  }
  const auto mutant = SerializeCompiledGraph(*graph);
  return {reinterpret_cast<const char*>(mutant.data()), mutant.size()};
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  return encore::RunMutator(data, max_size, seed, [&](std::mt19937& random) {
    return MutateGraph(encore::FuzzBytes(data, size), max_size, random);
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed =
      ParseCompiledGraph(std::as_bytes(std::span(data, size)), nullptr);
  if (!parsed.ok()) return 0;
  const auto bytes = SerializeCompiledGraph(*parsed);
  const auto again = ParseCompiledGraph(bytes, nullptr);
  ENCORE_CHECK_OK(again.status());
  ENCORE_CHECK(SerializeCompiledGraph(*again) == bytes);
  if (!VerifyPlan(*parsed).ok()) return 0;
  ENCORE_CHECK_EQ(BrokenTextLaw(*parsed), "");
  if (IsSmall(*parsed)) ENCORE_CHECK_EQ(FindHarm(*parsed), "");
  return 0;
}
