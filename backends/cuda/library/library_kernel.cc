#include "encore/backends/cuda/library/library_kernel.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/runtime/queue.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

using Compute = LibraryRecipe::Compute;
using Matrix = LibraryRecipe::Matrix;

LtCompute ComputeOf(Compute compute) {
  switch (compute) {
    case Compute::kTF32:
      return LtCompute::kFastTF32;
    case Compute::kBF16:
      return LtCompute::kFastBF16;
    case Compute::kF16:
      return LtCompute::kFastF16;
    case Compute::kF64:
      return LtCompute::kF64;
    case Compute::kF32:
      break;
  }
  return LtCompute::kF32;
}

StatusOr<LtType> TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return LtType::kF32;
    case DType::kF64:
      return LtType::kF64;
    case DType::kF16:
      return LtType::kF16;
    case DType::kBF16:
      return LtType::kBF16;
    default:
      return UnimplementedError(StrCat("cuBLASLt has no products of ", dtype));
  }
}

// The buffers of a launch.
struct Operands {
  void* a = nullptr;
  void* b = nullptr;
  void* c = nullptr;  // d's where there is none
  void* d = nullptr;
  void* bias = nullptr;
  void* workspace = nullptr;
};

// How far behind `scratch` a workspace begins.
int64_t BytesToAlignment(const void* scratch) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  return static_cast<int64_t>(-address % uintptr_t{kWorkspaceAlignment});
}

class LibraryKernel : public runtime::Kernel {
 public:
  LibraryKernel(LibraryParams params,
                std::unique_ptr<runtime::Kernel> generated,
                std::shared_ptr<DirectQueue> direct, size_t reads)
      : recipe_(std::move(params.recipe)),
        generated_(std::move(generated)),
        direct_(std::move(direct)),
        reads_(reads) {
    for (const LibraryOperand& operand : OperandsOf(recipe_)) {
      ends_.push_back(
          {BufferOf(*operand.matrix, operand.is_written), EndOf(operand)});
    }
  }

  // Chooses the algorithm.
  Status Finalize(std::shared_ptr<const CublasLtHandle> handle,
                  const Architecture& architecture);
  void set_note(std::string note) { note_ = std::move(note); }

  Status Launch(const runtime::LaunchContext& context) const override;
  std::string_view note() const override { return note_; }

 private:
  // Of the step's buffers, the bytes that an operand reaches to.
  struct End {
    size_t buffer;
    int64_t bytes;
  };

  Status DescribeLayout(const Matrix& matrix, int64_t rows, int64_t columns,
                        LtLayout* layout) const;
  Status DescribeProduct(const void* bias, LtMatmulDesc* desc) const;
  Status Prefer(LtPreference* preference) const;
  StatusOr<LtAlgorithm> Choose(const std::string& key);
  size_t BufferOf(const Matrix& matrix, bool is_written) const {
    return (is_written ? reads_ : 0) + matrix.buffer;
  }
  Status CheckEnds(const runtime::LaunchContext& context) const;
  // REQUIRES that CheckEnds holds.
  Operands Locate(const runtime::LaunchContext& context) const;
  bool IsAligned(const Operands& operands) const;
  Status LaunchIn(CudaQueue& queue, const Operands& operands) const;
  const CublasLtTable& api() const { return handle_->library().api(); }

  const LibraryRecipe recipe_;
  const std::unique_ptr<runtime::Kernel> generated_;
  const std::shared_ptr<DirectQueue> direct_;
  const size_t reads_;
  std::vector<End> ends_;
  std::string note_;
  std::shared_ptr<const CublasLtHandle> handle_;  // null: generated
  // The library takes what it only reads as not constant.
  mutable LtLayout a_, b_, c_, d_;
  LtAlgorithm algorithm_;
};

Status LibraryKernel::DescribeLayout(const Matrix& matrix, int64_t rows,
                                     int64_t columns, LtLayout* layout) const {
  if (matrix.transposed) std::swap(rows, columns);
  ENCORE_ASSIGN_OR_RETURN(const LtType type, TypeOf(matrix.dtype));
  const CublasLt& library = handle_->library();
  ENCORE_RETURN_IF_ERROR(library.ToStatus(
      api().cublasLtMatrixLayoutInit_internal(
          layout, sizeof(*layout), type, static_cast<uint64_t>(rows),
          static_cast<uint64_t>(columns), matrix.pitch),
      "cublasLtMatrixLayoutInit"));
  if (recipe_.batch == 1) return OkStatus();
  const auto count = static_cast<int32_t>(recipe_.batch);
  const auto set = [&](LtLayoutAttribute attribute, const auto& value) {
    return library.ToStatus(api().cublasLtMatrixLayoutSetAttribute(
                                layout, attribute, &value, sizeof(value)),
                            "cublasLtMatrixLayoutSetAttribute");
  };
  ENCORE_RETURN_IF_ERROR(set(LtLayoutAttribute::kBatchCount, count));
  return set(LtLayoutAttribute::kStridedBatchOffset, matrix.batch_stride);
}

Status LibraryKernel::DescribeProduct(const void* bias,
                                      LtMatmulDesc* desc) const {
  const CublasLt& library = handle_->library();
  const bool wide = recipe_.compute == Compute::kF64;
  ENCORE_RETURN_IF_ERROR(library.ToStatus(
      api().cublasLtMatmulDescInit_internal(desc, sizeof(*desc),
                                            ComputeOf(recipe_.compute),
                                            wide ? LtType::kF64 : LtType::kF32),
      "cublasLtMatmulDescInit"));
  const auto set = [&](LtDescAttribute attribute, const auto& value) {
    return library.ToStatus(api().cublasLtMatmulDescSetAttribute(
                                desc, attribute, &value, sizeof(value)),
                            "cublasLtMatmulDescSetAttribute");
  };
  const uint32_t a = recipe_.a.transposed ? kLtTransposed : kLtNotTransposed;
  const uint32_t b = recipe_.b.transposed ? kLtTransposed : kLtNotTransposed;
  ENCORE_RETURN_IF_ERROR(set(LtDescAttribute::kTransA, a));
  ENCORE_RETURN_IF_ERROR(set(LtDescAttribute::kTransB, b));
  uint32_t epilogue = 0;
  if (recipe_.relu) epilogue |= kLtEpilogueRelu;
  if (recipe_.bias) epilogue |= kLtEpilogueBias;
  if (epilogue == 0) return OkStatus();
  ENCORE_RETURN_IF_ERROR(set(LtDescAttribute::kEpilogue, epilogue));
  if (!recipe_.bias) return OkStatus();
  return set(LtDescAttribute::kBiasPointer, bias);
}

Status LibraryKernel::Prefer(LtPreference* preference) const {
  const CublasLt& library = handle_->library();
  ENCORE_RETURN_IF_ERROR(
      library.ToStatus(api().cublasLtMatmulPreferenceInit_internal(
                           preference, sizeof(*preference)),
                       "cublasLtMatmulPreferenceInit"));
  const auto set = [&](LtPreferenceAttribute attribute, const auto& value) {
    return library.ToStatus(api().cublasLtMatmulPreferenceSetAttribute(
                                preference, attribute, &value, sizeof(value)),
                            "cublasLtMatmulPreferenceSetAttribute");
  };
  const auto workspace = static_cast<uint64_t>(recipe_.workspace_bytes);
  ENCORE_RETURN_IF_ERROR(
      set(LtPreferenceAttribute::kMaxWorkspaceBytes, workspace));
  const auto alignment = static_cast<uint32_t>(recipe_.alignment);
  for (const LtPreferenceAttribute attribute :
       {LtPreferenceAttribute::kMinAlignmentA,
        LtPreferenceAttribute::kMinAlignmentB,
        LtPreferenceAttribute::kMinAlignmentC,
        LtPreferenceAttribute::kMinAlignmentD}) {
    ENCORE_RETURN_IF_ERROR(set(attribute, alignment));
  }
  return OkStatus();
}

StatusOr<LtAlgorithm> LibraryKernel::Choose(const std::string& key) {
  CublasLt& library = handle_->library();
  LtMatmulDesc desc;
  // Preferences say how matrices are aligned, but not the bias, at whose
  // address the library looks: one that is aligned to what every launch's is,
  // and to no more. Nothing is read there.
  const auto bias = static_cast<uintptr_t>(recipe_.alignment);
  ENCORE_RETURN_IF_ERROR(
      DescribeProduct(reinterpret_cast<const void*>(bias), &desc));
  LtHeuristic result;
  if (const auto kept = library.Recall(key)) {
    // Another device of the same architecture may lack what the first had.
    const LtStatus status = api().cublasLtMatmulAlgoCheck(
        handle_->get(), &desc, &a_, &b_, &c_, &d_, &*kept, &result);
    const auto limit = static_cast<size_t>(recipe_.workspace_bytes);
    if (status == LtStatus::kSuccess && result.workspaceSize <= limit) {
      return *kept;
    }
  }
  LtPreference preference;
  ENCORE_RETURN_IF_ERROR(Prefer(&preference));
  int found = 0;
  ENCORE_RETURN_IF_ERROR(library.ToStatus(
      api().cublasLtMatmulAlgoGetHeuristic(handle_->get(), &desc, &a_, &b_, &c_,
                                           &d_, &preference, 1, &result,
                                           &found),
      "cublasLtMatmulAlgoGetHeuristic"));
  if (found < 1) return UnimplementedError("cuBLASLt has no algorithm for it");
  ENCORE_RETURN_IF_ERROR(
      library.ToStatus(result.state, "cublasLtMatmulAlgoGetHeuristic"));
  library.Keep(key, result.algo);
  return result.algo;
}

Status LibraryKernel::Finalize(std::shared_ptr<const CublasLtHandle> handle,
                               const Architecture& architecture) {
  handle_ = std::move(handle);
  const Context::Scope scope(handle_->context());
  const LibraryRecipe& r = recipe_;
  const auto describe = [&]() -> StatusOr<LtAlgorithm> {
    ENCORE_RETURN_IF_ERROR(DescribeLayout(r.a, r.rows, r.depth, &a_));
    ENCORE_RETURN_IF_ERROR(DescribeLayout(r.b, r.depth, r.columns, &b_));
    ENCORE_RETURN_IF_ERROR(
        DescribeLayout(r.c.value_or(r.d), r.rows, r.columns, &c_));
    ENCORE_RETURN_IF_ERROR(DescribeLayout(r.d, r.rows, r.columns, &d_));
    LibraryParams key;
    key.recipe = r;
    const std::vector<std::byte> bytes = Encode(key);
    return Choose(
        StrCat(Name(architecture), " ",
               std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                bytes.size())));
  };
  const StatusOr<LtAlgorithm> chosen = describe();
  if (chosen.ok()) {
    algorithm_ = *chosen;
  } else {
    handle_ = nullptr;
  }
  return chosen.status();
}

Operands LibraryKernel::Locate(const runtime::LaunchContext& context) const {
  const auto at = [&](const Matrix& matrix, bool is_written) -> void* {
    return static_cast<std::byte*>(
               context.buffers[BufferOf(matrix, is_written)]) +
           matrix.offset * (BitWidth(matrix.dtype) / 8);
  };
  Operands operands;
  operands.a = at(recipe_.a, false);
  operands.b = at(recipe_.b, false);
  operands.d = at(recipe_.d, true);
  operands.c = recipe_.c ? at(*recipe_.c, false) : operands.d;
  if (recipe_.bias) operands.bias = at(*recipe_.bias, false);
  if (recipe_.workspace_bytes > 0) {
    std::byte* const scratch =
        static_cast<std::byte*>(context.buffers[BufferOf(recipe_.d, true) + 1]);
    operands.workspace = scratch + BytesToAlignment(scratch);
  }
  return operands;
}

// A recipe that was not made for the step would read and write elsewhere.
Status LibraryKernel::CheckEnds(const runtime::LaunchContext& context) const {
  for (const End& end : ends_) {
    if (end.bytes > context.sizes[end.buffer]) {
      return InvalidArgumentError(
          StrCat("a recipe reaches to byte ", end.bytes, " of buffer ",
                 end.buffer, ", which has ", context.sizes[end.buffer]));
    }
  }
  if (recipe_.workspace_bytes == 0) return OkStatus();
  const size_t scratch = BufferOf(recipe_.d, true) + 1;
  const int64_t room =
      context.sizes[scratch] - BytesToAlignment(context.buffers[scratch]);
  if (room >= recipe_.workspace_bytes) return OkStatus();
  return InvalidArgumentError(
      StrCat("a recipe's workspace of ", recipe_.workspace_bytes,
             " bytes is in a buffer of ", context.sizes[scratch]));
}

bool LibraryKernel::IsAligned(const Operands& operands) const {
  const uintptr_t all = reinterpret_cast<uintptr_t>(operands.a) |
                        reinterpret_cast<uintptr_t>(operands.b) |
                        reinterpret_cast<uintptr_t>(operands.c) |
                        reinterpret_cast<uintptr_t>(operands.d) |
                        reinterpret_cast<uintptr_t>(operands.bias);
  return all % static_cast<uintptr_t>(recipe_.alignment) == 0;
}

Status LibraryKernel::Launch(const runtime::LaunchContext& context) const {
  if (handle_ == nullptr) return generated_->Launch(context);
  ENCORE_RETURN_IF_ERROR(CheckEnds(context));
  const Operands operands = Locate(context);
  if (!IsAligned(operands)) return generated_->Launch(context);
  if (context.queue != nullptr) {
    return LaunchIn(static_cast<CudaQueue&>(*context.queue), operands);
  }
  return direct_->Run(
      [&](CudaQueue& queue) { return LaunchIn(queue, operands); });
}

Status LibraryKernel::LaunchIn(CudaQueue& queue,
                               const Operands& operands) const {
  ENCORE_ASSIGN_OR_RETURN(const CUstream stream, queue.StartLibrary());
  const Context::Scope scope(handle_->context());
  LtMatmulDesc desc;
  ENCORE_RETURN_IF_ERROR(DescribeProduct(operands.bias, &desc));
  const bool wide = recipe_.compute == Compute::kF64;
  const float one = 1, beta = recipe_.c ? 1 : 0;
  const double wide_one = 1, wide_beta = beta;
  return handle_->library().ToStatus(
      api().cublasLtMatmul(
          handle_->get(), &desc,
          wide ? static_cast<const void*>(&wide_one) : &one, operands.a, &a_,
          operands.b, &b_, wide ? static_cast<const void*>(&wide_beta) : &beta,
          operands.c, &c_, operands.d, &d_, &algorithm_, operands.workspace,
          static_cast<size_t>(recipe_.workspace_bytes), stream),
      "cublasLtMatmul");
}

}  // namespace

StatusOr<std::shared_ptr<const CublasLtHandle>> CublasLtHandle::New(
    std::shared_ptr<const Context> context, const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(auto library, CublasLt::Open(path));
  std::shared_ptr<CublasLtHandle> handle(
      new CublasLtHandle(std::move(context), std::move(library)));
  const Context::Scope scope(*handle->context_);
  LtHandle made = nullptr;
  ENCORE_RETURN_IF_ERROR(handle->library_->ToStatus(
      handle->library_->api().cublasLtCreate(&made), "cublasLtCreate"));
  handle->handle_ = made;
  return handle;
}

CublasLtHandle::~CublasLtHandle() {
  if (handle_ == nullptr) return;
  const Context::Scope scope(*context_);
  (void)library_->api().cublasLtDestroy(handle_);
}

std::unique_ptr<runtime::Kernel> NewLibraryKernel(
    LibraryParams params, const runtime::KernelBinary& binary,
    std::unique_ptr<runtime::Kernel> generated, const LibraryPlace& place) {
  const std::string name = params.generated;
  const std::string library = params.recipe.library;
  const uint32_t version = params.recipe.version;
  auto kernel = std::make_unique<LibraryKernel>(
      std::move(params), std::move(generated), place.direct, binary.reads);
  const auto finalize = [&]() -> Status {
    if (library != kCublasLt || version != kCublasLtMajor) {
      return UnimplementedError("this release has no such library");
    }
    ENCORE_RETURN_IF_ERROR(place.cublaslt.status());
    return kernel->Finalize(*place.cublaslt, place.architecture);
  };
  const Status status = finalize();
  if (status.ok()) {
    kernel->set_note(
        StrCat("cuBLASLt ", (*place.cublaslt)->library().version()));
  } else {
    kernel->set_note(StrCat("generated kernel ", name, " in place of ", library,
                            " ", version, ": ", Message(status)));
  }
  return kernel;
}

}  // namespace encore::backends::cuda
