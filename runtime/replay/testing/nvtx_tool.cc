// A profiler in the place of NVIDIA's that writes down the ranges it is told
// of: a line each, "push NAME" or "pop".
#include <cstddef>
#include <set>
#include <string>

#include "encore/runtime/replay/nvtx_types.h"

namespace {

namespace nvtx = encore::runtime::nvtx;

std::string& Log() {
  static auto* const log = new std::string;
  return *log;
}

void* Create(const char* name) {
  static std::string domain;
  domain = name;
  return &domain;
}

void* Register(void*, const char* text) {
  static auto* const names = new std::set<std::string>;
  return const_cast<std::string*>(&*names->insert(text).first);
}

int Push(void* domain, const nvtx::EventAttributes* event) {
  if (event->version != 3 || event->size != sizeof(*event) ||
      event->messageType != nvtx::kRegistered) {
    Log() += "wrong attributes\n";
    return -1;
  }
  Log() += *static_cast<const std::string*>(domain) + " push " +
           *static_cast<const std::string*>(event->message) + "\n";
  return 0;
}

int Pop(void*) {
  Log() += "pop\n";
  return 0;
}

template <typename F>
nvtx::Function Generic(F* function) {
  return reinterpret_cast<nvtx::Function>(function);
}

}  // namespace

extern "C" const char* NvtxToolLog() { return Log().c_str(); }
extern "C" void NvtxToolForget() { Log().clear(); }

extern "C" int InitializeInjectionNvtx2(nvtx::GetExportTable get) {
  const auto* const version =
      static_cast<const nvtx::VersionInfo*>(get(3 /* version info */));
  const auto* const callbacks =
      static_cast<const nvtx::Callbacks*>(get(1 /* callbacks */));
  if (version == nullptr || version->version != 3 || callbacks == nullptr ||
      get(2) != nullptr) {
    return 0;
  }
  nvtx::Function** table = nullptr;
  unsigned int size = 0;
  // That of CUDA's names is not there.
  if (callbacks->GetModuleFunctionTable(nvtx::Module(2), &table, &size) != 0) {
    return 0;
  }
  if (callbacks->GetModuleFunctionTable(nvtx::Module::kCore2, &table, &size) !=
          1 ||
      size <= nvtx::kDomainCreateA || table[0] != nullptr) {
    return 0;
  }
  *table[nvtx::kDomainCreateA] = Generic(&Create);
  *table[nvtx::kDomainRegisterStringA] = Generic(&Register);
  *table[nvtx::kDomainRangePushEx] = Generic(&Push);
  *table[nvtx::kDomainRangePop] = Generic(&Pop);
  return 1;
}
