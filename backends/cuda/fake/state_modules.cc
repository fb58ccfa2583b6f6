// The driver's functions of modules, functions and launches.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/parse/parser.h"
#include "encore/backends/cuda/fake/state.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda::fake {
namespace {

// What a driver puts in the place of this declaration: a condition's handle is
// the address of its value.
constexpr std::string_view kSetConditional =
    ".extern .func cudaGraphSetConditional";
constexpr std::string_view kSetConditionalBody =
    ".func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
    "{\n.reg .b64 %h;\n.reg .b32 %v;\nld.param.b64 %h, [handle];\n"
    "ld.param.b32 %v, [value];\nst.global.b32 [%h], %v;\nret;\n}\n";

// The text of a module with the functions that the driver brings.
std::string WithDriversFunctions(std::string_view module) {
  std::string text(module);
  const size_t begin = text.find(kSetConditional);
  if (begin == std::string::npos) return text;
  const size_t end = text.find(';', begin);
  if (end == std::string::npos) return text;
  return text.replace(begin, end + 1 - begin, kSetConditionalBody);
}

constexpr uint32_t kMostShared = 232448;
constexpr uint32_t kUsualShared = 48 << 10;

}  // namespace

Result FakeState::cuModuleLoadDataEx(CUmodule* module, const void* image,
                                     unsigned int options, JitOption* names,
                                     void** values) {
  CUcontext context = nullptr;
  if (const Result result = Current(&context); result != Result::kSuccess) {
    return result;
  }
  const char* const text = static_cast<const char*>(image);
  if (std::memcmp(text, "\177ELF", 4) == 0) return Result::kNoBinaryForGpu;
  auto parsed = ptx::ParseModule(WithDriversFunctions(text));
  Status status = parsed.status();
  auto made = std::make_unique<CUmod_st>();
  if (status.ok()) {
    uint64_t bytes = 4096;
    for (const ptx::Variable& variable : parsed->variables) {
      bytes += variable.bytes + variable.alignment + 1024;
    }
    const auto address = memory_.Reserve(bytes);
    if (!address) return Result::kOutOfMemory;
    auto loaded = ptx::LoadedModule::Load(*std::move(parsed), *address);
    status = loaded.status();
    if (status.ok()) made->loaded = *std::move(loaded);
  }
  if (!status.ok()) {
    uint64_t capacity = 0;
    char* log = nullptr;
    for (unsigned int i = 0; i < options; ++i) {
      if (names[i] == JitOption::kErrorLogBuffer) {
        log = static_cast<char*>(values[i]);
      } else if (names[i] == JitOption::kErrorLogBufferSizeBytes) {
        capacity = reinterpret_cast<uint64_t>(values[i]);
      }
    }
    if (log != nullptr && capacity > 0) {
      std::strncpy(log, std::string(Message(status)).c_str(), capacity);
      log[capacity - 1] = 0;
    }
    return Result::kInvalidPtx;
  }
  made->context = context;
  *module = made.get();
  modules_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuModuleUnload(CUmodule module) {
  if (!IsLive(modules_, module)) return Result::kInvalidHandle;
  const Result lost = module->context->lost;
  for (const CUfunction function : module->functions) {
    functions_.erase(function);
  }
  modules_.erase(module);
  return lost;
}

Result FakeState::cuModuleGetFunction(CUfunction* function, CUmodule module,
                                      const char* name) {
  if (!IsLive(modules_, module)) return Result::kInvalidHandle;
  const auto program = module->loaded->Kernel(name);
  if (!program.ok()) return Result::kNotFound;
  auto made = std::make_unique<CUfunc_st>();
  made->module = module;
  made->program = *program;
  made->most_dynamic =
      kUsualShared - std::min<uint32_t>(kUsualShared, (*program)->shared_bytes);
  *function = made.get();
  module->functions.push_back(made.get());
  functions_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuFuncGetAttribute(int* value, FunctionAttribute attribute,
                                     CUfunction function) {
  if (!IsLive(functions_, function)) return Result::kInvalidHandle;
  const ptx::Program& program = *function->program;
  switch (attribute) {
    case FunctionAttribute::kMaxThreadsPerBlock:
      *value = program.most_threads == 0
                   ? 1024
                   : static_cast<int>(program.most_threads);
      return Result::kSuccess;
    case FunctionAttribute::kSharedSizeBytes:
      *value = static_cast<int>(program.shared_bytes);
      return Result::kSuccess;
    case FunctionAttribute::kLocalSizeBytes:
      *value = static_cast<int>(program.local_bytes);
      return Result::kSuccess;
    case FunctionAttribute::kMaxDynamicSharedSizeBytes:
      *value = static_cast<int>(function->most_dynamic);
      return Result::kSuccess;
    case FunctionAttribute::kNumRegs:
      break;  // PTX has no registers of a device
  }
  return Result::kNotSupported;
}

Result FakeState::cuFuncSetAttribute(CUfunction function,
                                     FunctionAttribute attribute, int value) {
  if (!IsLive(functions_, function)) return Result::kInvalidHandle;
  if (attribute != FunctionAttribute::kMaxDynamicSharedSizeBytes || value < 0 ||
      value + function->program->shared_bytes > kMostShared) {
    return Result::kInvalidValue;
  }
  function->most_dynamic = static_cast<uint32_t>(value);
  return Result::kSuccess;
}

Result FakeState::cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, CUfunction function, int threads,
    size_t dynamic_shared_bytes) {
  if (!IsLive(functions_, function)) return Result::kInvalidHandle;
  if (threads < 1 || threads > 1024) return Result::kInvalidValue;
  // 2048 threads, 32 blocks and 228 KiB, of which each block takes 1 KiB more.
  const uint64_t shared =
      function->program->shared_bytes + dynamic_shared_bytes + 1024;
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  const int by_shared = static_cast<int>((228 << 10) / shared);
  *blocks = std::min({32, by_threads, by_shared});
  return Result::kSuccess;
}

Result FakeState::MakeLaunch(CUfunction function,
                             const std::array<uint32_t, 3>& grid,
                             const std::array<uint32_t, 3>& block,
                             uint32_t shared_bytes, void** parameters,
                             void** extra, LaunchWork* launch) const {
  if (!IsLive(functions_, function)) return Result::kInvalidHandle;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (std::ranges::count(grid, 0u) > 0 || threads == 0 || threads > 1024 ||
      block[2] > 64 || grid[0] > INT32_MAX || grid[1] > 65535 ||
      grid[2] > 65535 || shared_bytes > function->most_dynamic ||
      extra != nullptr) {
    return Result::kInvalidValue;
  }
  const ptx::Program& program = *function->program;
  if (parameters == nullptr && !program.parameters.empty()) {
    return Result::kInvalidValue;
  }
  *launch = {function, grid, block, shared_bytes, {}};
  launch->parameters.resize(program.parameter_bytes);
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    std::memcpy(launch->parameters.data() + program.parameters[i].offset,
                parameters[i], program.parameters[i].bytes);
  }
  return Result::kSuccess;
}

Result FakeState::cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                 unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z,
                                 unsigned int shared_bytes, CUstream stream,
                                 void** parameters, void** extra) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  LaunchWork launch;
  const Result result = MakeLaunch(function, {grid_x, grid_y, grid_z},
                                   {block_x, block_y, block_z}, shared_bytes,
                                   parameters, extra, &launch);
  if (result != Result::kSuccess) return result;
  if (function->module->context != stream->context) {
    return Result::kInvalidHandle;
  }
  return Enqueue(stream, std::move(launch));
}

}  // namespace encore::backends::cuda::fake
