// A library in the place of NVIDIA's driver, whose functions do nothing: for
// tests of how a driver is found. SMALL_DRIVER says what is wrong with it:
// "no NAME" (no function of that name), "stub", "no device", "broken".
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

std::string_view Fault() {
  const char* const fault = std::getenv("SMALL_DRIVER");
  return fault == nullptr ? "" : fault;
}

uint32_t Init(unsigned int) {
  if (Fault() == "stub") return 34;
  if (Fault() == "no device") return 100;
  return Fault() == "broken" ? 999 : 0;
}

uint32_t GetVersion(int* version) {
  *version = 13000;
  return 0;
}

uint32_t GetCount(int* count) {
  *count = 2;
  return 0;
}

uint32_t NameOf(uint32_t error, const char** name) {
  *name = "CUDA_ERROR_UNKNOWN";
  return error == 999 ? 0 : 1;
}

uint32_t Nothing() { return 801; }

template <typename F>
void* AddressOf(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) uint32_t cuGetProcAddress_v2(
    const char* symbol, void** function, int version, uint64_t, uint32_t*) {
  const std::string_view name(symbol);
  if (version < 2000 || version > 13000 || name.substr(0, 2) != "cu") return 1;
  if (Fault().substr(0, 3) == "no " && Fault().substr(3) == name) return 500;
  *function = name == "cuInit"               ? AddressOf(Init)
              : name == "cuDriverGetVersion" ? AddressOf(GetVersion)
              : name == "cuDeviceGetCount"   ? AddressOf(GetCount)
              : name == "cuGetErrorName"     ? AddressOf(NameOf)
                                             : AddressOf(Nothing);
  return 0;
}
