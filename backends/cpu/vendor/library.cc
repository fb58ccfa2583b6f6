#include "encore/backends/cpu/vendor/library.h"

#include <dlfcn.h>

#include <atomic>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/elf/library_file.h"
#include "encore/backends/cpu/vendor/small_blocks.h"
#include "encore/ir/support/library_places.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

#define ENCORE_TEXT_(x) #x
#define ENCORE_TEXT(x) ENCORE_TEXT_(x)
constexpr char kVersion[] = ENCORE_TEXT(DNNL_VERSION_MAJOR) "." ENCORE_TEXT(
    DNNL_VERSION_MINOR) "." ENCORE_TEXT(DNNL_VERSION_PATCH);
#undef ENCORE_TEXT
#undef ENCORE_TEXT_
constexpr char kVariable[] = "ENCORE_ONEDNN";
constexpr char kRunfile[] = "onednn/lib/libdnnl.so.3";

std::atomic<bool> loaded = false;

// The library's file, as it is when first asked for.
struct VendorFile {
  std::string path;  // the first place that has it; empty: none
  std::string version;
};

std::string VersionOf(const std::string& path) {
  if (path.empty()) return "none";
  return StrCat(kVersion, " ", ReadLibraryFile(path).id);
}

const VendorFile& TheFile() {
  static const auto* const file = [] {
    auto* found = new VendorFile;
    found->path = FindLibrary(kVariable, kRunfile);
    found->version = VersionOf(found->path);
    return found;
  }();
  return *file;
}

constexpr char kRemedy[] = "; ENCORE_ONEDNN=none goes on without it";

// The widest instructions that the library may use, as the target says.
dnnl_cpu_isa_t MaxIsa() {
  switch (HostCpu().isa) {
    case Isa::kAvx2:
      return dnnl_cpu_isa_avx2;
    case Isa::kAvx512:
      return dnnl_cpu_isa_avx512_core;
    case Isa::kNone:
      break;
  }
  return dnnl_cpu_isa_sse41;
}

StatusOr<const VendorLibrary*> Load() {
  const std::string& path = TheFile().path;
  if (path.empty()) {
    return NotFoundError(
        StrCat("oneDNN ", kVersion,
               " is not there: libdnnl.so.3 belongs beside the program, or "
               "ENCORE_ONEDNN says where it is"));
  }
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return FailedPreconditionError(
        StrCat("oneDNN cannot be loaded: ", dlerror(), kRemedy));
  }
  // The key of what is compiled names the one that was looked at.
  if (VersionOf(path) != TheFile().version) {
    return FailedPreconditionError(StrCat(
        path, " has been replaced since the program started; start it again"));
  }
  auto* const library = new VendorLibrary;
  bool complete = true;
  const auto bind = [&](auto& function, const char* name) {
    void* const symbol = dlsym(handle, name);
    complete &= symbol != nullptr;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
#define ENCORE_VENDOR_FUNCTION(name) bind(library->name, "dnnl_" #name);
  ENCORE_VENDOR_FUNCTIONS(ENCORE_VENDOR_FUNCTION)
#undef ENCORE_VENDOR_FUNCTION
  bind(library->omp_set_num_threads, "omp_set_num_threads");
  bind(library->omp_get_max_threads, "omp_get_max_threads");
  if (!complete) {
    return FailedPreconditionError(
        StrCat(path, " is not oneDNN with OpenMP", kRemedy));
  }
  const dnnl_version_t* const version = library->version();
  const std::string found =
      StrCat(version->major, ".", version->minor, ".", version->patch);
  if (found != kVersion) {
    return FailedPreconditionError(
        StrCat(path, " is oneDNN ", found, ", wanted is ", kVersion, kRemedy));
  }
  // Fails where somebody else in the process has used the library before; it is
  // then as wide as it is.
  library->set_max_cpu_isa(MaxIsa());
  ENCORE_RETURN_IF_ERROR(
      ToStatus(*library, library->engine_create(&library->engine, dnnl_cpu, 0),
               "engine"));
  ENCORE_RETURN_IF_ERROR(Annotate(small_blocks::Recycle(handle), path));
  loaded = true;
  return library;
}

}  // namespace

std::string_view VendorRequirement() {
  static const auto* const text = new std::string(StrCat("onednn=", kVersion));
  return *text;
}

Status CheckVendorRequirement(std::string_view requirement) {
  if (!IsVendorRequirement(requirement)) return OkStatus();
  if (requirement == VendorRequirement() && !TheFile().path.empty()) {
    return OkStatus();
  }
  return FailedPreconditionError(
      StrCat("the program needs ", requirement,
             ", this machine has onednn=", VendorVersion(),
             "; libdnnl.so.3 belongs beside the program, or ENCORE_ONEDNN says "
             "where it is"));
}

const std::string& VendorVersion() { return TheFile().version; }

StatusOr<const VendorLibrary*> LoadVendorLibrary() {
  static const auto* const library = new StatusOr<const VendorLibrary*>(Load());
  return *library;
}

bool VendorLibraryIsLoaded() { return loaded; }

Status ToStatus(const VendorLibrary& library, dnnl_status_t status,
                std::string_view what) {
  if (status == dnnl_success) return OkStatus();
  if (status == dnnl_out_of_memory) {
    return ResourceExhaustedError(StrCat("oneDNN: ", what, ": no memory"));
  }
  return InternalError(
      StrCat("oneDNN: ", what, ": ", library.status2str(status)));
}

}  // namespace encore::backends::cpu
