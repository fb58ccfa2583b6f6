#include "encore/backends/cuda/library/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "encore/backends/cuda/library/recipe.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Chosen algorithms that a process keeps; beyond that it forgets all.
constexpr size_t kMostKept = 4096;

constexpr char kRemedy[] =
    "; install CUDA's library of that version, or ENCORE_CUBLASLT says where "
    "it is";

}  // namespace

std::string CublasLtLibrary() {
  const char* const path = std::getenv("ENCORE_CUBLASLT");
  return path == nullptr || *path == 0 ? "libcublasLt.so.13" : path;
}

StatusOr<std::shared_ptr<CublasLt>> CublasLt::Open(const std::string& path) {
  // Never closed: it has state of its own.
  static auto* const mutex = new std::mutex;
  static auto* const opened =
      new std::map<std::string, std::shared_ptr<CublasLt>>;
  const std::lock_guard lock(*mutex);
  std::shared_ptr<CublasLt>& known = (*opened)[path];
  if (known != nullptr) return known;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailedPreconditionError(
        StrCat("cuBLASLt cannot be loaded: ", dlerror(), kRemedy));
  }
  std::shared_ptr<CublasLt> made(new CublasLt);
  ENCORE_RETURN_IF_ERROR(made->Bind(library, path));
  known = made;
  return made;
}

Status CublasLt::Bind(void* library, const std::string& path) {
  Status status;
  const auto bind = [&](auto& function, const char* name) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr && status.ok()) {
      status = FailedPreconditionError(
          StrCat(path, " has no function ", name, kRemedy));
    }
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
#define ENCORE_CUBLASLT_FUNCTION(result, name, parameters) \
  bind(api_.name, #name);
#include "encore/backends/cuda/library/cublaslt_functions.def"
#undef ENCORE_CUBLASLT_FUNCTION
  ENCORE_RETURN_IF_ERROR(status);
  // 130100 for 13.1.0.
  const size_t number = api_.cublasLtGetVersion();
  version_ = StrCat(number / 10000, ".", number / 100 % 100, ".", number % 100);
  if (number / 10000 == kCublasLtMajor) return OkStatus();
  return FailedPreconditionError(StrCat(path, " is cuBLASLt ", version_,
                                        ", wanted is ", kCublasLtMajor,
                                        kRemedy));
}

Status CublasLt::ToStatus(LtStatus status, const char* what) const {
  if (status == LtStatus::kSuccess) return OkStatus();
  const char* const name = api_.cublasLtGetStatusName(status);
  const std::string message =
      StrCat(what, ": ", name == nullptr ? "status" : name, " (",
             static_cast<uint32_t>(status), ")");
  return status == LtStatus::kAllocFailed ? ResourceExhaustedError(message)
                                          : InternalError(message);
}

std::optional<LtAlgorithm> CublasLt::Recall(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return std::nullopt;
  return found->second;
}

void CublasLt::Keep(const std::string& key, const LtAlgorithm& algorithm) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_[key] = algorithm;
}

}  // namespace encore::backends::cuda
