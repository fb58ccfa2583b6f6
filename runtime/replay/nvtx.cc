#include "encore/runtime/replay/nvtx.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "encore/runtime/replay/nvtx_types.h"

namespace encore::runtime {
namespace {

// What the profiler writes to, which has no object of ours to be told of.
struct Slots {
  std::array<nvtx::Function, nvtx::kFunctions> functions = {};
  // Where each of these is; nothing for number 0, and a null at the end.
  std::array<nvtx::Function*, nvtx::kFunctions + 1> table = {};

  Slots() {
    for (unsigned i = 1; i < nvtx::kFunctions; ++i) table[i] = &functions[i];
  }
  template <typename Wanted>
  Wanted Find(unsigned number) const {
    return reinterpret_cast<Wanted>(functions[number]);
  }
};

Slots& SlotsOf(nvtx::Module module) {
  static Slots core, core2;
  return module == nvtx::Module::kCore ? core : core2;
}

int GetModuleFunctionTable(nvtx::Module module, nvtx::Function*** table,
                           unsigned int* size) {
  if (module != nvtx::Module::kCore && module != nvtx::Module::kCore2) return 0;
  if (table != nullptr) *table = SlotsOf(module).table.data();
  if (size != nullptr) *size = nvtx::kFunctions;
  return 1;
}

void SetInjectionNvtxVersion(uint32_t) {}

const void* GetExportTable(uint32_t id) {
  static constexpr nvtx::Callbacks callbacks = {sizeof(nvtx::Callbacks),
                                                &GetModuleFunctionTable};
  static constexpr nvtx::VersionInfo version = {
      sizeof(nvtx::VersionInfo), nvtx::kVersion, 0, &SetInjectionNvtxVersion};
  switch (static_cast<nvtx::ExportTable>(id)) {
    case nvtx::ExportTable::kCallbacks:
      return &callbacks;
    case nvtx::ExportTable::kVersionInfo:
      return &version;
  }
  return nullptr;
}

template <typename Wanted>
Wanted Find(unsigned number) {
  return SlotsOf(nvtx::Module::kCore2).Find<Wanted>(number);
}

}  // namespace

const Nvtx* Nvtx::Attached() {
  static const Nvtx* const attached = []() -> const Nvtx* {
    // A program with more rights than its caller loads nothing of the caller's.
    const char* const library = secure_getenv("NVTX_INJECTION64_PATH");
    if (library == nullptr || *library == 0) return nullptr;
    std::unique_ptr<Nvtx> nvtx(new Nvtx);
    return nvtx->Attach(library) ? nvtx.release() : nullptr;
  }();
  return attached;
}

bool Nvtx::Attach(const char* library) {
  // Never closed: a profiler has threads of its own.
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  const auto initialize =
      reinterpret_cast<nvtx::Initialize>(dlsym(handle, nvtx::kEntry));
  if (initialize == nullptr || initialize(&GetExportTable) == 0) return false;
  const auto create = Find<nvtx::DomainCreateA>(nvtx::kDomainCreateA);
  if (create == nullptr ||
      Find<nvtx::DomainRegisterStringA>(nvtx::kDomainRegisterStringA) ==
          nullptr ||
      Find<nvtx::DomainRangePushEx>(nvtx::kDomainRangePushEx) == nullptr ||
      Find<nvtx::DomainRangePop>(nvtx::kDomainRangePop) == nullptr) {
    return false;
  }
  domain_ = create("Encore");
  return true;
}

Nvtx::Name Nvtx::Register(const std::string& text) const {
  return Find<nvtx::DomainRegisterStringA>(nvtx::kDomainRegisterStringA)(
      domain_, text.c_str());
}

void Nvtx::Push(Name name) const {
  nvtx::EventAttributes event;
  event.message = name;
  (void)Find<nvtx::DomainRangePushEx>(nvtx::kDomainRangePushEx)(domain_,
                                                                &event);
}

void Nvtx::Pop() const {
  (void)Find<nvtx::DomainRangePop>(nvtx::kDomainRangePop)(domain_);
}

}  // namespace encore::runtime
