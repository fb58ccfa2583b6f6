#include "encore/backends/cuda/runtime/kernel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "encore/backends/cuda/requirements.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// What any launch may have without asking, static and dynamic.
constexpr int64_t kUsualShared = 48 << 10;

std::string NamesOf(std::span<const ModuleImage> images) {
  std::vector<std::string> names;
  for (const ModuleImage& image : images) {
    names.push_back(
        StrCat(image.kind == ModuleImage::Kind::kPtx ? "PTX for " : "code for ",
               Name(image.architecture), " under a driver of CUDA ",
               CudaVersionText(image.driver)));
  }
  return StrJoin(names, ", ");
}

// Whether another image may serve where one gives this.
bool IsOfTheImage(Result result) {
  return result == Result::kNoBinaryForGpu || result == Result::kInvalidImage ||
         result == Result::kUnsupportedPtxVersion ||
         result == Result::kJitCompilerNotFound;
}

class CudaKernel : public runtime::Kernel {
 public:
  CudaKernel(const runtime::KernelBinary& binary,
             std::shared_ptr<const LoadedModule> module,
             std::shared_ptr<const KernelParams> params,
             std::shared_ptr<DirectQueue> direct)
      : module_(std::move(module)),
        params_(std::move(params)),
        direct_(std::move(direct)),
        buffers_(binary.reads + binary.writes),
        args_(binary.args) {}

  Status Init(const DeviceLimits& limits);
  Status Launch(const runtime::LaunchContext& context) const override;

 private:
  Status AskForShared(const KernelParams::Launch& launch, CUfunction function,
                      int most) const;
  Status LaunchIn(CudaQueue& queue,
                  const runtime::LaunchContext& context) const;

  const std::shared_ptr<const LoadedModule> module_;
  const std::shared_ptr<const KernelParams> params_;
  const std::shared_ptr<DirectQueue> direct_;
  const size_t buffers_, args_;
  std::vector<CUfunction> functions_;  // as params_->launches
};

Status CudaKernel::Init(const DeviceLimits& limits) {
  const Context::Scope scope(*module_->context());
  for (const KernelParams::Launch& launch : params_->launches) {
    ENCORE_ASSIGN_OR_RETURN(const CUfunction function,
                            module_->Find(launch.entry));
    ENCORE_RETURN_IF_ERROR(AskForShared(launch, function, limits.shared_bytes));
    functions_.push_back(function);
  }
  return OkStatus();
}

Status CudaKernel::AskForShared(const KernelParams::Launch& launch,
                                CUfunction function, int most) const {
  const bool known = launch.shared_bytes.is_constant();
  const Context& context = *module_->context();
  int fixed = 0;
  ENCORE_RETURN_IF_ERROR(context.ToStatus(
      context.api().cuFuncGetAttribute(
          &fixed, FunctionAttribute::kSharedSizeBytes, function),
      "cuFuncGetAttribute"));
  if (known && launch.shared_bytes.constant() + fixed <= kUsualShared) {
    return OkStatus();
  }
  if (known && launch.shared_bytes.constant() + fixed > most) {
    return FailedPreconditionError(
        StrCat("kernel ", launch.entry, " needs ",
               launch.shared_bytes.constant() + fixed,
               " bytes of shared memory, the device has ", most));
  }
  const int dynamic = known ? static_cast<int>(launch.shared_bytes.constant())
                            : std::max(most - fixed, 0);
  return context.ToStatus(
      context.api().cuFuncSetAttribute(
          function, FunctionAttribute::kMaxDynamicSharedSizeBytes, dynamic),
      "cuFuncSetAttribute");
}

Status CudaKernel::Launch(const runtime::LaunchContext& context) const {
  if (context.queue != nullptr) {
    return LaunchIn(static_cast<CudaQueue&>(*context.queue), context);
  }
  return direct_->Run(
      [&](CudaQueue& queue) { return LaunchIn(queue, context); },
      context.failed_origin);
}

Status CudaKernel::LaunchIn(CudaQueue& queue,
                            const runtime::LaunchContext& context) const {
  std::array<void*, kMostArguments> arguments;
  size_t count = 0;
  for (size_t i = 0; i < buffers_; ++i) {
    arguments[count++] = const_cast<void**>(context.buffers + i);
  }
  for (size_t i = 0; i < args_; ++i) {
    arguments[count++] = const_cast<int64_t*>(context.args + i);
  }
  FaultRecord* record = nullptr;
  if (!params_->checks.empty()) {
    const Context::Scope scope(*queue.context());
    ENCORE_ASSIGN_OR_RETURN(record,
                            queue.records().RecordOf(queue.tag(), params_));
    arguments[count++] = &record;
  }
  queue.StartOperation();
  for (size_t i = 0; i < functions_.size(); ++i) {
    const KernelParams::Launch& launch = params_->launches[i];
    const std::optional<LaunchSize> size =
        SizeOf(launch, {context.args, args_});
    if (!size) return TooLarge(launch, {context.args, args_});
    if (std::ranges::count(size->grid, 0u) > 0) continue;
    ENCORE_RETURN_IF_ERROR(queue.Launch(
        {functions_[i], size->grid, launch.block, size->shared_bytes},
        arguments.data()));
  }
  return queue.EndOperation();
}

}  // namespace

StatusOr<std::shared_ptr<const LoadedModule>> LoadedModule::Load(
    std::shared_ptr<const Context> context, const DeviceLimits& limits,
    std::span<const std::byte> file) {
  ENCORE_ASSIGN_OR_RETURN(std::vector<ModuleImage> images, DecodeModule(file));
  std::shared_ptr<LoadedModule> module(new LoadedModule(std::move(context)));
  const auto version =
      static_cast<uint32_t>(module->context_->driver().version());
  const std::string names = NamesOf(images);
  const Context::Scope scope(*module->context_);
  std::string why;
  while (const ModuleImage* const image =
             ChooseImage(images, limits.architecture, version)) {
    std::string log;
    const Result result = module->LoadImage(*image, &log);
    if (result == Result::kSuccess) return module;
    const Status status =
        Annotate(module->context_->ToStatus(result, "cuModuleLoadDataEx"), log);
    if (!IsOfTheImage(result)) return status;
    why = StrCat("; ", Message(status));
    images.erase(images.begin() + (image - images.data()));
  }
  return FailedPreconditionError(StrCat(
      "the device is ", Name(limits.architecture), " under a driver of CUDA ",
      CudaVersionText(version), ", the package has ", names, why));
}

Result LoadedModule::LoadImage(const ModuleImage& image, std::string* log) {
  // The driver wants a zero behind PTX.
  std::vector<char> bytes(image.bytes.size() + 1);
  std::memcpy(bytes.data(), image.bytes.data(), image.bytes.size());
  std::array<char, 2048> text = {};
  std::array<JitOption, 2> names = {JitOption::kErrorLogBuffer,
                                    JitOption::kErrorLogBufferSizeBytes};
  std::array<void*, 2> values = {text.data(),
                                 reinterpret_cast<void*>(text.size())};
  const Result result = context_->api().cuModuleLoadDataEx(
      &module_, bytes.data(), names.size(), names.data(), values.data());
  text.back() = 0;
  *log = text.data();
  return result;
}

LoadedModule::~LoadedModule() {
  if (module_ == nullptr) return;
  const Context::Scope scope(*context_);
  (void)context_->api().cuModuleUnload(module_);
}

StatusOr<CUfunction> LoadedModule::Find(const std::string& name) const {
  CUfunction function = nullptr;
  const Result result =
      context_->api().cuModuleGetFunction(&function, module_, name.c_str());
  if (result == Result::kNotFound) {
    return DataLossError(StrCat("the module has no kernel ", name));
  }
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(result, "cuModuleGetFunction"));
  return function;
}

StatusOr<std::unique_ptr<runtime::Kernel>> NewKernel(
    const runtime::KernelBinary& binary,
    std::shared_ptr<const LoadedModule> module, const DeviceLimits& limits,
    std::shared_ptr<DirectQueue> direct) {
  ENCORE_ASSIGN_OR_RETURN(KernelParams decoded,
                          DecodeKernelParams(binary.params, binary.args));
  if (uint64_t{binary.reads} + binary.writes + binary.args + 1 >
      kMostArguments) {
    return DataLossError(
        StrCat("a kernel has more than ", kMostArguments, " arguments"));
  }
  auto kernel = std::make_unique<CudaKernel>(
      binary, std::move(module),
      std::make_shared<const KernelParams>(std::move(decoded)),
      std::move(direct));
  ENCORE_RETURN_IF_ERROR(kernel->Init(limits));
  return kernel;
}

}  // namespace encore::backends::cuda
