#include "encore/runtime/testing/test_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/replay/host_object.h"

namespace encore::runtime {
namespace {

using Function = Status (*)(const LaunchContext& c);

template <typename T>
T* Buffer(const LaunchContext& c, int i) {
  return static_cast<T*>(c.buffers[i]);
}

int64_t Count(const LaunchContext& c, int i) {
  return c.sizes[i] / static_cast<int64_t>(sizeof(float));
}

template <typename F>
Status Binary(const LaunchContext& c, F f) {
  const float *a = Buffer<float>(c, 0), *b = Buffer<float>(c, 1);
  float* out = Buffer<float>(c, 2);
  for (int64_t i = 0; i < Count(c, 2); ++i) out[i] = f(a[i], b[i]);
  return OkStatus();
}

template <typename F>
Status Unary(const LaunchContext& c, F f) {
  const float* a = Buffer<float>(c, 0);
  float* out = Buffer<float>(c, 1);
  for (int64_t i = 0; i < Count(c, 1); ++i) out[i] = f(a[i], out[i]);
  return OkStatus();
}

Status CountNonZero(const LaunchContext& c) {
  const float* a = Buffer<float>(c, 0);
  *Buffer<int64_t>(c, 1) = Count(c, 0) - std::count(a, a + Count(c, 0), 0.0f);
  return OkStatus();
}

Status Compact(const LaunchContext& c) {
  const float* a = Buffer<float>(c, 0);
  float* out = Buffer<float>(c, 1);
  int64_t done = 0;
  for (int64_t i = 0; i < Count(c, 0) && done < c.args[0]; ++i) {
    if (a[i] != 0) out[done++] = a[i];
  }
  return OkStatus();
}

Status SumParallel(const LaunchContext& c) {
  const float* a = Buffer<float>(c, 0);
  float* out = Buffer<float>(c, 1);
  const int64_t count = Count(c, 1);
  c.threads->ParallelFor(16, [&](int64_t p) {
    for (int64_t i = p * count / 16; i < (p + 1) * count / 16; ++i) {
      out[i] = a[i];
    }
  });
  return OkStatus();
}

Status ConcatStrings(const LaunchContext& c) {
  const auto& a = Buffer<HostObject>(c, 0)->value.strings();
  const auto& b = Buffer<HostObject>(c, 1)->value.strings();
  std::vector<std::string> joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(a[i] + b[i]);
  const auto count = static_cast<int64_t>(joined.size());
  Buffer<HostObject>(c, 2)->value =
      Literal::Strings({count}, std::move(joined));
  return OkStatus();
}

Status CountStrings(const LaunchContext& c) {
  *Buffer<int64_t>(c, 1) = Buffer<HostObject>(c, 0)->value.element_count();
  return OkStatus();
}

Status Exchange(const LaunchContext& c) {
  std::swap(Buffer<HostObject>(c, 1)->value, Buffer<HostObject>(c, 2)->value);
  return OkStatus();
}

struct Entry {
  const char* name;
  Function function;
};

constexpr Entry kEntries[] = {
    {"add",
     [](const LaunchContext& c) { return Binary(c, std::plus<float>()); }},
    {"mul",
     [](const LaunchContext& c) {
       return Binary(c, std::multiplies<float>());
     }},
    {"relu",
     [](const LaunchContext& c) {
       return Unary(c, [](float x, float) { return std::max(x, 0.0f); });
     }},
    {"copy",
     [](const LaunchContext& c) {
       return Unary(c, [](float x, float) { return x; });
     }},
    {"neg",
     [](const LaunchContext& c) {
       return Unary(c, [](float x, float) { return -x; });
     }},
    {"update",
     [](const LaunchContext& c) {
       return Unary(c, [](float x, float y) { return x + y; });
     }},
    {"fill",
     [](const LaunchContext& c) {
       std::fill_n(Buffer<float>(c, 0), Count(c, 0),
                   static_cast<float>(c.args[0]));
       return OkStatus();
     }},
    {"less",
     [](const LaunchContext& c) {
       *Buffer<bool>(c, 2) = *Buffer<int64_t>(c, 0) < *Buffer<int64_t>(c, 1);
       return OkStatus();
     }},
    {"increment",
     [](const LaunchContext& c) {
       ++*Buffer<int64_t>(c, 0);
       return OkStatus();
     }},
    {"count", CountNonZero},
    {"compact", Compact},
    {"sum_parallel", SumParallel},
    {"concat_strings", ConcatStrings},
    {"count_strings", CountStrings},
    {"exchange", Exchange},
    {"fail",
     [](const LaunchContext& c) { return InternalError("asked to fail"); }},
};

class TestKernel : public Kernel {
 public:
  explicit TestKernel(Function function) : function_(function) {}
  Status Launch(const LaunchContext& context) const override {
    return function_(context);
  }

 private:
  Function function_;
};

}  // namespace

StatusOr<void*> TestDevice::Allocate(int64_t bytes) {
  StatusOr<void*> data = HostDevice::Allocate(bytes);
  if (data.ok()) ++live_;
  return data;
}

void TestDevice::Deallocate(void* data, int64_t bytes) {
  --live_;
  HostDevice::Deallocate(data, bytes);
}

StatusOr<std::vector<std::unique_ptr<Kernel>>> TestDevice::Load(
    std::span<const LoadRequest> requests, ThreadPool* threads) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const LoadRequest& request : requests) {
    const auto* entry =
        std::ranges::find(kEntries, request.binary->entry, &Entry::name);
    if (entry == std::end(kEntries)) {
      return NotFoundError(StrCat("no test kernel ", request.binary->entry));
    }
    kernels.push_back(std::make_unique<TestKernel>(entry->function));
  }
  return kernels;
}

TestGraph::TestGraph(PoolId pool) {
  graph.devices.push_back({"test", 0, pool});
  if (pool != kHostPool) graph.pools.push_back({DeviceId(0)});
  run = AddPlan(&graph, {});
  graph.run = run;
}

SlotId TestGraph::Tensor(SlotRole role, Shape shape, DType dtype) {
  Slot slot;
  slot.role = role;
  slot.type = {dtype, std::move(shape), ValueKind::kTensor};
  slot.bytes = DenseBytes(slot.type);
  const SlotId id = AddSlot(&graph, slot);
  if (role == SlotRole::kInput) graph.inputs.push_back(id);
  if (role == SlotRole::kOutput) graph.outputs.push_back(id);
  if (role == SlotRole::kParameter) graph.parameters.push_back(id);
  return id;
}

SlotId TestGraph::Constant(std::vector<float> values) {
  const SlotId id =
      Tensor(SlotRole::kConstant, {static_cast<int64_t>(values.size())});
  graph.slots[id.value()].blob =
      AddBlob(&graph, Blob::Copy(std::as_bytes(std::span(values))));
  return id;
}

void TestGraph::Place(SlotId slot, SlotId arena, Dim offset) {
  graph.slots[slot.value()].base = arena;
  graph.slots[slot.value()].offset = std::move(offset);
  graph.slots[slot.value()].pool = graph.slot(arena).pool;
}

SlotId TestGraph::Arena(Dim bytes) {
  Slot slot;
  slot.is_arena = true;
  slot.bytes = std::move(bytes);
  return AddSlot(&graph, slot);
}

KernelBinaryId TestGraph::Binary(const std::string& entry, uint32_t reads,
                                 uint32_t writes, uint32_t args) {
  for (uint32_t p = 0; p < graph.kernel_binaries.size(); ++p) {
    if (graph.kernel_binaries[p].entry == entry) return KernelBinaryId(p);
  }
  runtime::KernelBinary binary;
  binary.backend = "test";
  binary.entry = entry;
  binary.reads = reads;
  binary.writes = writes;
  binary.args = args;
  return AddKernelBinary(&graph, binary);
}

void TestGraph::Launch(const std::string& entry, std::vector<SlotId> reads,
                       std::vector<SlotId> writes, std::vector<Dim> args,
                       PlanId plan) {
  runtime::Launch launch;
  launch.binary = Binary(entry, reads.size(), writes.size(), args.size());
  launch.device = DeviceId(0);
  launch.reads = std::move(reads);
  launch.writes = std::move(writes);
  launch.args = std::move(args);
  Add({std::move(launch), {}}, plan);
}

void TestGraph::Add(Step step, PlanId plan) {
  graph.plans[(plan.valid() ? plan : run).value()].steps.push_back(
      std::move(step));
}

}  // namespace encore::runtime
