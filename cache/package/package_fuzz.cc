// Packages and recordings, with right checksums and wrong ones.
#include <cstddef>
#include <cstdint>

#include "encore/cache/testing/hostile_load.h"
#include "encore/ir/support/testing/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  encore::cache::LoadHostilePackage(encore::FuzzBytes(data, size));
  return 0;
}
