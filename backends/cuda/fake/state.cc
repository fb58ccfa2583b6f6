#include "encore/backends/cuda/fake/state.h"

#include <cstring>
#include <utility>

#include "encore/backends/cuda/emulator/launch.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda::fake {
namespace {

constexpr size_t kMostLogged = 1000;

bool IsCounted(FunctionNumber function) {
  return function != FunctionNumber::k_cuGetErrorName &&
         function != FunctionNumber::k_cuGetErrorString;
}

// Of what a kernel did.
Result ResultOf(const Status& status) {
  if (status.ok()) return Result::kSuccess;
  if (status.code() == StatusCode::kResourceExhausted) {
    return Result::kLaunchTimeout;
  }
  return status.code() == StatusCode::kInvalidArgument
             ? Result::kLaunchFailed
             : Result::kIllegalAddress;
}

}  // namespace

Result FakeState::Begin(FunctionNumber function) {
  if (!IsCounted(function)) return Result::kSuccess;
  const Result one = counters_[static_cast<size_t>(function)].Next();
  const Result any = all_.Next();
  return one == Result::kSuccess ? any : one;
}

void FakeState::End(FunctionNumber function, Result result) {
  log_.emplace_back(function, result);
  if (log_.size() > kMostLogged) log_.pop_front();
}

std::vector<std::string> FakeState::Leaks() const {
  std::vector<std::string> leaks;
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) leaks.push_back(StrCat(count, " ", what));
  };
  add(memory_.blocks(), "blocks of memory");
  add(static_cast<int64_t>(modules_.size()), "modules");
  add(static_cast<int64_t>(streams_.size()), "streams");
  add(static_cast<int64_t>(events_.size()), "events");
  add(static_cast<int64_t>(graphs_.size()), "graphs");
  add(static_cast<int64_t>(executables_.size()), "executable graphs");
  add(work_.pending(), "pieces of work");
  int64_t uses = 0;
  for (const auto& context : contexts_) {
    if (context != nullptr) uses += context->uses;
  }
  add(uses, "uses of a context");
  return leaks;
}

Result FakeState::Use(CUstream stream) const {
  if (!IsLive(streams_, stream)) return Result::kInvalidHandle;
  return stream->context->lost;
}

Result FakeState::Invalidate(CUstream stream) {
  stream->capture->invalid = true;
  return Result::kCaptureUnsupported;
}

std::byte* FakeState::BytesOf(uint64_t address, uint64_t bytes, bool is_host) {
  if (is_host && !memory_.IsPinned(address)) {
    return reinterpret_cast<std::byte*>(address);
  }
  int owner = 0;
  std::byte* const data = memory_.Find(address, bytes, &owner);
  return is_host && owner != Memory::kHost ? nullptr : data;
}

Result FakeState::CheckCopy(const CopyWork& copy) {
  if (copy.bytes == 0) return Result::kInvalidValue;
  const bool valid =
      BytesOf(copy.dst, copy.bytes, copy.dst_is_host) != nullptr &&
      BytesOf(copy.src, copy.bytes, copy.src_is_host) != nullptr;
  return valid ? Result::kSuccess : Result::kInvalidValue;
}

Result FakeState::RunCopy(const CopyWork& copy) {
  std::byte* const dst = BytesOf(copy.dst, copy.bytes, copy.dst_is_host);
  const std::byte* const src = BytesOf(copy.src, copy.bytes, copy.src_is_host);
  if (dst == nullptr || src == nullptr) {
    fault_ = "a copy of memory that was given back before";
    return Result::kIllegalAddress;
  }
  std::memmove(dst, src, copy.bytes);
  return Result::kSuccess;
}

Result FakeState::RunLaunch(CUcontext context, const LaunchWork& launch) {
  if (!IsLive(functions_, launch.function)) {
    fault_ = "a kernel of a module that was unloaded before it ran";
    return Result::kIllegalAddress;
  }
  if (!options_.run_kernels) return Result::kSuccess;
  std::vector<ptx::Allocation> visible = memory_.Visible(context->device);
  const auto& variables = launch.function->module->loaded->variables();
  visible.insert(visible.end(), variables.begin(), variables.end());
  ptx::LaunchConfig config;
  config.grid = launch.grid;
  config.block = launch.block;
  config.dynamic_shared_bytes = launch.shared_bytes;
  config.parameters = launch.parameters;
  ptx::LaunchOptions options;
  options.seed = options_.seed;
  options.perturb_approximations = options_.perturb_approximations;
  const Status status =
      ptx::Launch(*launch.function->program, config, visible, options, nullptr);
  if (!status.ok()) fault_ = std::string(Message(status));
  return ResultOf(status);
}

void FakeState::Perform(CUcontext context, const Operation& operation,
                        CUstream stream) {
  if (std::holds_alternative<std::monostate>(operation)) return;
  if (context->lost != Result::kSuccess) return;
  if (const auto* work = std::get_if<ConditionalWork>(&operation)) {
    RunConditional(context, *work);
    return;
  }
  const int64_t begin = 1000 * clock_++ + 200;
  activities_.push_back({stream, std::holds_alternative<CopyWork>(operation),
                         begin, begin + 700});
  if (activities_.size() > kMostLogged) activities_.pop_front();
  Result result = works_.Next();
  if (result != Result::kSuccess) {
    fault_ = "asked to fail";
  } else if (const auto* launch = std::get_if<LaunchWork>(&operation)) {
    result = RunLaunch(context, *launch);
  } else {
    result = RunCopy(std::get<CopyWork>(operation));
  }
  if (result != Result::kSuccess) context->lost = result;
}

TaskPtr FakeState::AddTask(std::vector<TaskPtr> after, CUcontext context,
                           Operation operation, CUstream stream) {
  if (std::holds_alternative<std::monostate>(operation)) {
    return work_.Add(std::move(after), nullptr);
  }
  return work_.Add(std::move(after),
                   [this, context, stream, work = std::move(operation)] {
                     Perform(context, work, stream);
                   });
}

Result FakeState::Enqueue(CUstream stream, Operation operation) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (stream->capture == nullptr) {
    stream->last =
        AddTask({stream->last}, stream->context, std::move(operation), stream);
    return Result::kSuccess;
  }
  if (stream->capture->invalid) return Result::kCaptureInvalidated;
  auto& nodes = stream->capture->graph->nodes;
  auto node = std::make_unique<CUgraphNode_st>();
  node->operation = std::move(operation);
  node->number = nodes.size();
  for (const CUgraphNode before : stream->dependencies) {
    node->after.push_back(before->number);
  }
  stream->dependencies = {node.get()};
  nodes.push_back(std::move(node));
  return Result::kSuccess;
}

}  // namespace encore::backends::cuda::fake
