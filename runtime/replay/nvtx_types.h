// What a profiler and NVTX agree on, declared here so that building needs no
// headers of NVIDIA's: nvtx_headers_test compares all of it with nvtx3.
#ifndef ENCORE_RUNTIME_REPLAY_NVTX_TYPES_H_
#define ENCORE_RUNTIME_REPLAY_NVTX_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace encore::runtime::nvtx {

inline constexpr uint32_t kVersion = 3;
inline constexpr char kEntry[] = "InitializeInjectionNvtx2";

enum class Module : int { kCore = 1, kCore2 = 5 };
enum class ExportTable : uint32_t { kCallbacks = 1, kVersionInfo = 3 };

// Functions of the two modules: 0 is none of them.
inline constexpr unsigned kFunctions = 16;
// Of kCore2.
inline constexpr unsigned kDomainRangePushEx = 4;
inline constexpr unsigned kDomainRangePop = 5;
inline constexpr unsigned kDomainRegisterStringA = 10;
inline constexpr unsigned kDomainCreateA = 12;

using Function = void (*)();
using GetExportTable = const void* (*)(uint32_t id);
// What kEntry is; 0: the profiler does not attach.
using Initialize = int (*)(GetExportTable get);

struct Callbacks {
  size_t struct_size;
  // 1 and the module's table: pointers to where functions are to be written.
  int (*GetModuleFunctionTable)(Module module, Function*** table,
                                unsigned int* size);
};
struct VersionInfo {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved0;
  void (*SetInjectionNvtxVersion)(uint32_t version);
};

inline constexpr uint16_t kAttributesVersion = 3;
inline constexpr int32_t kRegistered = 3;  // of messageType

struct EventAttributes {
  uint16_t version = kAttributesVersion;
  uint16_t size = 48;
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0;
  int32_t reserved0 = 0;
  uint64_t payload = 0;
  int32_t messageType = kRegistered;
  const void* message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48);

using DomainCreateA = void* (*)(const char* name);
using DomainRegisterStringA = void* (*)(void* domain, const char* text);
using DomainRangePushEx = int (*)(void* domain, const EventAttributes* event);
using DomainRangePop = int (*)(void* domain);

}  // namespace encore::runtime::nvtx

#endif  // ENCORE_RUNTIME_REPLAY_NVTX_TYPES_H_
