// FakeState: what a fake driver holds, and its functions, of which each has its
// row in functions.def: one that is missing does not link.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_STATE_H_
#define ENCORE_BACKENDS_CUDA_FAKE_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/backends/cuda/fake/memory.h"
#include "encore/backends/cuda/fake/options.h"
#include "encore/backends/cuda/fake/work.h"

// The handles. All are alone in their maps of FakeState.
struct CUctx_st {
  int device = 0;
  int uses = 0;
  encore::backends::cuda::Result lost =
      encore::backends::cuda::Result::kSuccess;
};
struct CUmod_st {
  CUcontext context = nullptr;
  std::unique_ptr<encore::ptx::LoadedModule> loaded;
  std::vector<CUfunction> functions;
};
struct CUfunc_st {
  CUmodule module = nullptr;
  const encore::ptx::Program* program = nullptr;
  uint32_t most_dynamic = 0;
};

namespace encore::backends::cuda::fake {

struct LaunchWork {
  CUfunction function = nullptr;
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t shared_bytes = 0;
  std::vector<std::byte> parameters;
};
struct CopyWork {
  uint64_t dst = 0, src = 0, bytes = 0;
  bool dst_is_host = false, src_is_host = false;
};
// What a conditional node looks at: four bytes of device memory, which what
// stands for cudaGraphSetConditional writes.
struct Condition {
  uint64_t address = 0;
};
struct ConditionalWork {
  std::shared_ptr<const Condition> condition;
  bool loops = false;
  std::vector<std::shared_ptr<CUgraph_st>> bodies;
};
// Empty: an operation that does nothing.
using Operation =
    std::variant<std::monostate, LaunchWork, CopyWork, ConditionalWork>;

}  // namespace encore::backends::cuda::fake

struct CUgraphNode_st {
  encore::backends::cuda::fake::Operation operation;
  std::vector<size_t> after;  // numbers in the graph
  size_t number = 0;
  std::vector<CUgraph> bodies;  // of a conditional node, as it gave them out
};
struct CUgraph_st {
  CUcontext context = nullptr;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  // That were made for nodes of it, by handle.
  std::map<uint64_t,
           std::shared_ptr<const encore::backends::cuda::fake::Condition>>
      conditions;
};
struct CUgraphExec_st {
  CUcontext context = nullptr;
  std::vector<CUgraphNode_st> nodes;
  std::map<const CUgraphNode_st*, size_t> numbers;  // of the graph it is of
  encore::backends::cuda::fake::TaskPtr last;
};

namespace encore::backends::cuda::fake {

// A graph being recorded.
struct Capture {
  std::shared_ptr<CUgraph_st> graph = std::make_shared<CUgraph_st>();
  bool is_body = false;  // of a conditional node, which has the graph
  CUstream origin = nullptr;
  uint64_t id = 0;
  bool invalid = false;
};

}  // namespace encore::backends::cuda::fake

struct CUstream_st {
  CUcontext context = nullptr;
  encore::backends::cuda::fake::TaskPtr last;
  // While it is recorded: where, and what comes before what is next.
  std::shared_ptr<encore::backends::cuda::fake::Capture> capture;
  std::vector<CUgraphNode> dependencies;
};
struct CUevent_st {
  CUcontext context = nullptr;
  bool timed = false;
  // By the clock of the work, once what was recorded is done.
  std::shared_ptr<int64_t> time;
  encore::backends::cuda::fake::TaskPtr task;
  std::shared_ptr<encore::backends::cuda::fake::Capture> capture;
  std::vector<CUgraphNode> nodes;
};

namespace encore::backends::cuda::fake {

// Calls of one function, or pieces of work.
struct Counter {
  int64_t count = 0, fail_at = -1;
  Result code = Result::kSuccess;

  // The code where this one is to fail.
  Result Next() { return count++ == fail_at ? code : Result::kSuccess; }
};

enum class FunctionNumber : uint16_t {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) k_##name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
  kCount,
};

template <typename Handle>
using Owned = std::map<const Handle*, std::unique_ptr<Handle>>;

class FakeState {
 public:
  explicit FakeState(const FakeOptions& options)
      : options_(options), work_(options.seed), contexts_(options.devices) {}

#define ENCORE_CUDA_FUNCTION(name, version, parameters) Result name parameters;
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION

  // What a call begins and ends with; the mutex is held in between.
  Result Begin(FunctionNumber function);
  void End(FunctionNumber function, Result result);

  // What work has been done, oldest first.
  std::deque<Activity> activities_;

  mutable std::mutex mutex_;
  std::array<Counter, static_cast<size_t>(FunctionNumber::kCount)> counters_;
  Counter all_, works_;
  std::deque<std::pair<FunctionNumber, Result>> log_;
  std::vector<std::string> Leaks() const;

 private:
  // The current context of this thread, where it can be used.
  Result Current(CUcontext* context) const;
  // Null where there is no such stream (event); kSuccess unless its context is
  // lost.
  Result Use(CUstream stream) const;
  // Does `operation` after what is in `stream`, or records it.
  Result Enqueue(CUstream stream, Operation operation);
  TaskPtr AddTask(std::vector<TaskPtr> after, CUcontext context,
                  Operation operation, CUstream stream = nullptr);
  void Perform(CUcontext context, const Operation& operation, CUstream stream);
  Result RunLaunch(CUcontext context, const LaunchWork& launch);
  Result RunCopy(const CopyWork& copy);
  void RunConditional(CUcontext context, const ConditionalWork& work);
  // The graph that is being recorded; null where it is none.
  CUgraph_st* Recorded(CUgraph graph) const;
  std::byte* BytesOf(uint64_t address, uint64_t bytes, bool is_host);
  Result CheckCopy(const CopyWork& copy);
  Result MakeLaunch(CUfunction function, const std::array<uint32_t, 3>& grid,
                    const std::array<uint32_t, 3>& block, uint32_t shared_bytes,
                    void** parameters, void** extra, LaunchWork* launch) const;
  // A call that may not be made of a stream that is recorded.
  Result Invalidate(CUstream stream);

  const FakeOptions options_;
  Memory memory_;
  Work work_;
  std::vector<std::unique_ptr<CUctx_st>> contexts_;  // by device
  Owned<CUmod_st> modules_;
  Owned<CUfunc_st> functions_;
  Owned<CUstream_st> streams_;
  Owned<CUevent_st> events_;
  std::map<const CUgraph_st*, std::shared_ptr<CUgraph_st>> graphs_;
  // Of conditional nodes, as long as these live.
  std::map<const CUgraph_st*, std::weak_ptr<CUgraph_st>> bodies_;
  Owned<CUgraphExec_st> executables_;
  std::string fault_;  // what the emulator said of the last kernel it refused
  uint64_t captures_ = 0;
  // Microseconds: each piece of work takes one.
  int64_t clock_ = 0;
  bool initialized_ = false;
};

template <typename Handle>
bool IsLive(const Owned<Handle>& owned, const Handle* handle) {
  return owned.contains(handle);
}

}  // namespace encore::backends::cuda::fake

#endif  // ENCORE_BACKENDS_CUDA_FAKE_STATE_H_
