// What libFuzzer calls to mutate the containers of a fuzz target.
#include "encore/cache/testing/container_mutator.h"
#include "encore/ir/support/testing/fuzz_target.h"

// Memory that nobody has is refused, as without AddressSanitizer; what asks for
// it and does not take no for an answer is found all the same.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {  // NOLINT: its name
  return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

ENCORE_FUZZ_MUTATORS(encore::cache::MutateContainer,
                     encore::cache::CrossContainers)
