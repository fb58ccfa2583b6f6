#include <cstddef>
#include <cstdint>
#include <string>

#include "encore/cache/container.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto container = encore::cache::Container::FromBytes(
      std::string(reinterpret_cast<const char*>(data), size));
  if (container.ok()) (void)(*container)->VerifyAll();
  return 0;
}
