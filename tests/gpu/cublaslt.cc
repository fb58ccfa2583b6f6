#include "encore/tests/gpu/cublaslt.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::gpu {
namespace {

// cublasComputeType_t, cudaDataType, cublasLtMatmulPreferenceAttributes_t.
constexpr int kComputeF32 = 68, kComputeTf32 = 77;
constexpr int kRealF32 = 0, kRealF16 = 2, kRealBf16 = 14;
constexpr int kMostWorkspace = 1;

// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  std::array<uint64_t, 8> algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  std::array<int, 4> reserved;
};

int RealType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return kRealF16;
    case DType::kBF16:
      return kRealBf16;
    default:
      return kRealF32;
  }
}

Status ToStatus(int result, const char* what) {
  if (result == 0) return OkStatus();
  return FailedPreconditionError(
      StrCat("cuBLASLt: ", what, ": status ", result));
}

}  // namespace

struct CublasLt::Library {
  int (*cublasLtCreate)(void** handle) = nullptr;
  int (*cublasLtDestroy)(void* handle) = nullptr;
  int (*cublasLtMatmulDescCreate)(void** desc, int compute,
                                  int scale) = nullptr;
  int (*cublasLtMatmulDescDestroy)(void* desc) = nullptr;
  int (*cublasLtMatrixLayoutCreate)(void** layout, int type, uint64_t rows,
                                    uint64_t columns, int64_t pitch) = nullptr;
  int (*cublasLtMatrixLayoutDestroy)(void* layout) = nullptr;
  int (*cublasLtMatmulPreferenceCreate)(void** preference) = nullptr;
  int (*cublasLtMatmulPreferenceDestroy)(void* preference) = nullptr;
  int (*cublasLtMatmulPreferenceSetAttribute)(void* preference, int attribute,
                                              const void* value,
                                              size_t bytes) = nullptr;
  int (*cublasLtMatmulAlgoGetHeuristic)(void* handle, void* desc, void* a,
                                        void* b, void* c, void* d,
                                        void* preference, int wanted,
                                        Heuristic* results,
                                        int* found) = nullptr;
  int (*cublasLtMatmul)(void* handle, void* desc, const void* alpha,
                        const void* a, void* a_layout, const void* b,
                        void* b_layout, const void* beta, const void* c,
                        void* c_layout, void* d, void* d_layout,
                        const void* algorithm, void* workspace, size_t bytes,
                        CUstream stream) = nullptr;

  Status Bind(void* library) {
    Status status;
    const auto bind = [&](auto& function, const char* name) {
      void* const symbol = dlsym(library, name);
      if (symbol == nullptr) {
        status =
            FailedPreconditionError(StrCat("cuBLASLt has no function ", name));
      }
      function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
    };
    bind(cublasLtCreate, "cublasLtCreate");
    bind(cublasLtDestroy, "cublasLtDestroy");
    bind(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate");
    bind(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy");
    bind(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
    bind(cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
    bind(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
    bind(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
    bind(cublasLtMatmulPreferenceSetAttribute,
         "cublasLtMatmulPreferenceSetAttribute");
    bind(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
    bind(cublasLtMatmul, "cublasLtMatmul");
    return status;
  }
};

// Descriptors of a product. The library's matrices are column-major: it is
// given that of the transposes.
struct CublasLt::Problem {
  const Library& library;
  void* desc = nullptr;
  void* a = nullptr;
  void* b = nullptr;
  void* d = nullptr;
  void* preference = nullptr;
  Heuristic heuristic = {};

  explicit Problem(const Library& of) : library(of) {}
  ~Problem() {
    if (preference != nullptr) {
      library.cublasLtMatmulPreferenceDestroy(preference);
    }
    for (void* const layout : {a, b, d}) {
      if (layout != nullptr) library.cublasLtMatrixLayoutDestroy(layout);
    }
    if (desc != nullptr) library.cublasLtMatmulDescDestroy(desc);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  Status Describe(const Product& of) {
    const auto layout = [&](void** made, int64_t rows, int64_t columns) {
      return ToStatus(
          library.cublasLtMatrixLayoutCreate(
              made, RealType(of.dtype), static_cast<uint64_t>(columns),
              static_cast<uint64_t>(rows), columns),
          "cublasLtMatrixLayoutCreate");
    };
    ENCORE_RETURN_IF_ERROR(
        ToStatus(library.cublasLtMatmulDescCreate(
                     &desc, of.tf32 ? kComputeTf32 : kComputeF32, kRealF32),
                 "cublasLtMatmulDescCreate"));
    ENCORE_RETURN_IF_ERROR(layout(&a, of.m, of.k));
    ENCORE_RETURN_IF_ERROR(layout(&b, of.k, of.n));
    return layout(&d, of.m, of.n);
  }

  Status Choose(void* handle, uint64_t workspace_bytes) {
    ENCORE_RETURN_IF_ERROR(
        ToStatus(library.cublasLtMatmulPreferenceCreate(&preference),
                 "cublasLtMatmulPreferenceCreate"));
    ENCORE_RETURN_IF_ERROR(ToStatus(
        library.cublasLtMatmulPreferenceSetAttribute(preference, kMostWorkspace,
                                                     &workspace_bytes,
                                                     sizeof(workspace_bytes)),
        "cublasLtMatmulPreferenceSetAttribute"));
    int found = 0;
    ENCORE_RETURN_IF_ERROR(ToStatus(
        library.cublasLtMatmulAlgoGetHeuristic(
            handle, desc, b, a, d, d, preference, 1, &heuristic, &found),
        "cublasLtMatmulAlgoGetHeuristic"));
    if (found == 1 && heuristic.status == 0) return OkStatus();
    return FailedPreconditionError("cuBLASLt has no algorithm for the product");
  }
};

CublasLt::CublasLt() : library_(std::make_unique<Library>()) {}

CublasLt::~CublasLt() {
  if (handle_ != nullptr) library_->cublasLtDestroy(handle_);
}

StatusOr<std::unique_ptr<CublasLt>> CublasLt::Open() {
  const char* const path = std::getenv("ENCORE_CUBLASLT");
  const std::string name =
      path == nullptr || *path == 0 ? "libcublasLt.so.13" : path;
  // Never closed: it has state of its own.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return NotFoundError(StrCat("cuBLASLt cannot be loaded: ", dlerror(),
                                "; ENCORE_CUBLASLT says where it is"));
  }
  std::unique_ptr<CublasLt> opened(new CublasLt);
  ENCORE_RETURN_IF_ERROR(opened->library_->Bind(library));
  ENCORE_RETURN_IF_ERROR(ToStatus(
      opened->library_->cublasLtCreate(&opened->handle_), "cublasLtCreate"));
  return opened;
}

StatusOr<CublasLt::Launch> CublasLt::Plan(const Product& product,
                                          void* workspace,
                                          uint64_t workspace_bytes) {
  auto problem = std::make_shared<Problem>(*library_);
  ENCORE_RETURN_IF_ERROR(problem->Describe(product));
  ENCORE_RETURN_IF_ERROR(problem->Choose(handle_, workspace_bytes));
  return [this, problem, product, workspace, workspace_bytes](CUstream stream) {
    constexpr float kOne = 1, kZero = 0;
    return ToStatus(
        library_->cublasLtMatmul(handle_, problem->desc, &kOne, product.b,
                                 problem->b, product.a, problem->a, &kZero,
                                 product.d, problem->d, product.d, problem->d,
                                 problem->heuristic.algorithm.data(), workspace,
                                 workspace_bytes, stream),
        "cublasLtMatmul");
  };
}

}  // namespace encore::gpu
