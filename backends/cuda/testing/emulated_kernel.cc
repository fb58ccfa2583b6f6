#include "encore/backends/cuda/testing/emulated_kernel.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/emulator/launch.h"
#include "encore/backends/cuda/emulator/parse/parser.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr uint64_t kVariables = 0x1'0000'0000, kBuffers = 0x100'0000'0000;
constexpr uint64_t kAlignment = 4096;

// What a launch's pointers point to.
class Memory {
 public:
  // Its address; that of the same memory where it was added before, since an
  // output may lie where an input does. It is `before` bytes behind an aligned
  // one: REQUIRES that many bytes before it.
  uint64_t Add(void* data, int64_t size, std::string name,
               uint64_t before = 0) {
    auto* const bytes = static_cast<std::byte*>(data) - before;
    const size_t count = size > 0 ? static_cast<size_t>(size) + before : 0;
    for (ptx::Allocation& known : allocations_) {
      if (known.bytes.data() != bytes || count == 0) continue;
      if (known.bytes.size() < count) known.bytes = {bytes, count};
      return known.address + before;
    }
    const uint64_t address = next_;
    next_ += (count / kAlignment + 2) * kAlignment;
    if (count > 0) {
      allocations_.push_back({address, {bytes, count}, std::move(name)});
    }
    return address + before;
  }

  const std::vector<ptx::Allocation>& allocations() const {
    return allocations_;
  }

 private:
  std::vector<ptx::Allocation> allocations_;
  uint64_t next_ = kBuffers;
};

}  // namespace

StatusOr<std::shared_ptr<const ptx::LoadedModule>> LoadEmulatedModule(
    std::string_view text) {
  ENCORE_ASSIGN_OR_RETURN(ptx::Module module, ptx::ParseModule(text));
  ENCORE_ASSIGN_OR_RETURN(
      auto loaded, ptx::LoadedModule::Load(std::move(module), kVariables));
  return std::shared_ptr<const ptx::LoadedModule>(std::move(loaded));
}

EmulatedKernel::EmulatedKernel(std::vector<Module> modules, KernelParams params,
                               uint32_t buffers, uint32_t args)
    : modules_(std::move(modules)),
      params_(std::move(params)),
      buffers_(buffers),
      args_(args) {}

Status EmulatedKernel::Launch(const runtime::LaunchContext& context) const {
  return LaunchCounted(context, nullptr);
}

Status EmulatedKernel::LaunchCounted(
    const runtime::LaunchContext& context,
    std::vector<ptx::Counters>* counters) const {
  Memory memory;
  std::vector<uint64_t> arguments;
  for (uint32_t i = 0; i < buffers_; ++i) {
    arguments.push_back(memory.Add(context.buffers[i], context.sizes[i],
                                   StrCat("buffer ", i),
                                   i < misaligned_ ? misalignment_ : 0));
  }
  const std::span<const int64_t> args(context.args, args_);
  arguments.insert(arguments.end(), args.begin(), args.end());
  FaultRecord record;
  if (!params_.checks.empty()) {
    arguments.push_back(memory.Add(&record, sizeof(record), "faults"));
  }
  for (size_t i = 0; i < params_.launches.size(); ++i) {
    const KernelParams::Launch& launch = params_.launches[i];
    const auto size = SizeOf(launch, args);
    if (!size) return TooLarge(launch, args);
    if (std::ranges::count(size->grid, 0u) > 0) continue;
    ENCORE_ASSIGN_OR_RETURN(const ptx::Program* program,
                            modules_[i]->Kernel(launch.entry));
    // What a device gives without being asked.
    constexpr uint64_t kMostStaticBytes = 48 << 10;
    if (program->shared_bytes > kMostStaticBytes) {
      return InternalError(
          StrCat("kernel ", launch.entry, " has ", program->shared_bytes,
                 " static bytes of shared memory, at most ", kMostStaticBytes));
    }
    ptx::LaunchConfig config;
    config.grid = size->grid;
    config.block = launch.block;
    config.dynamic_shared_bytes = size->shared_bytes;
    config.parameters = std::as_bytes(std::span(arguments));
    std::vector<ptx::Allocation> allocations = memory.allocations();
    const auto& variables = modules_[i]->variables();
    allocations.insert(allocations.end(), variables.begin(), variables.end());
    ptx::Counters counted;
    ENCORE_RETURN_IF_ERROR(
        ptx::Launch(*program, config, allocations, options_, &counted));
    if (counters != nullptr) counters->push_back(counted);
  }
  return ReportFault(record, params_, context.failed_origin);
}

StatusOr<std::unique_ptr<runtime::Kernel>> LoadEmulatedKernel(
    const runtime::LoadRequest& request) {
  const runtime::KernelBinary& binary = *request.binary;
  ENCORE_ASSIGN_OR_RETURN(KernelParams params,
                          DecodeKernelParams(binary.params, binary.args));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<ModuleImage> images,
                          DecodeModule(request.artifact));
  const auto image =
      std::ranges::find(images, ModuleImage::Kind::kPtx, &ModuleImage::kind);
  if (image == images.end()) {
    return FailedPreconditionError("a module without PTX");
  }
  ENCORE_ASSIGN_OR_RETURN(
      auto module,
      LoadEmulatedModule({reinterpret_cast<const char*>(image->bytes.data()),
                          image->bytes.size()}));
  std::vector<EmulatedKernel::Module> modules(params.launches.size(), module);
  return std::unique_ptr<runtime::Kernel>(std::make_unique<EmulatedKernel>(
      std::move(modules), std::move(params), binary.reads + binary.writes,
      binary.args));
}

}  // namespace encore::backends::cuda
