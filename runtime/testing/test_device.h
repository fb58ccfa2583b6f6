// TestDevice: a backend of a few kernels over f32 for tests of the runtime. A
// binary's entry is the kernel's name; it has no artifact.
//
//   add, mul         2 reads, 1 write: elementwise
//   relu, copy, neg  1 read, 1 write: elementwise
//   update           1 read, 1 write: y += x
//   fill             1 write, 1 arg: every element becomes the arg
//   less             2 reads of one i64, 1 write of one bool
//   increment        1 write, also a read, of one i64: adds 1
//   count            1 read, 1 write of one i64: how many elements are not 0
//   compact          1 read, 1 write, 1 arg: the first arg elements not 0
//   sum_parallel     1 read, 1 write: elementwise copy by 16 partitions
//   concat_strings   2 reads, 1 write of string tensors
//   count_strings    1 read of strings, 1 write of one i64: how many they are
//   exchange         1 read of an object, also the first of 2 writes: swaps
//   them fail             fails
#ifndef ENCORE_RUNTIME_TESTING_TEST_DEVICE_H_
#define ENCORE_RUNTIME_TESTING_TEST_DEVICE_H_

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/host_device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

class TestDevice : public HostDevice {
 public:
  explicit TestDevice(std::string backend = "test")
      : HostDevice(std::move(backend)) {}

  bool runs_on_host() const override { return true; }
  StatusOr<void*> Allocate(int64_t bytes) override;
  void Deallocate(void* data, int64_t bytes) override;
  StatusOr<std::vector<std::unique_ptr<Kernel>>> Load(
      std::span<const LoadRequest> requests, ThreadPool* threads) override;

  // Blocks that Allocate gave and nobody gave back.
  int live_blocks() const { return live_; }

 private:
  std::atomic<int> live_ = 0;
};

// Builds graphs over one TestDevice, whose kernels run on host memory.
class TestGraph {
 public:
  explicit TestGraph(PoolId pool = kHostPool);

  CompiledGraph graph;
  PlanId run;

  // A dense f32 tensor slot.
  SlotId Tensor(SlotRole role, Shape shape, DType dtype = DType::kF32);
  SlotId Temp(Shape shape, DType dtype = DType::kF32) {
    return Tensor(SlotRole::kTemporary, std::move(shape), dtype);
  }
  SlotId Constant(std::vector<float> values);
  // A place in `arena` for `slot`.
  void Place(SlotId slot, SlotId arena, Dim offset);
  SlotId Arena(Dim bytes);

  KernelBinaryId Binary(const std::string& entry, uint32_t reads,
                        uint32_t writes, uint32_t args = 0);
  // Appends a step to plan `run`, or to `plan`.
  void Launch(const std::string& entry, std::vector<SlotId> reads,
              std::vector<SlotId> writes, std::vector<Dim> args = {},
              PlanId plan = {});
  void Add(Step step, PlanId plan = {});
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_TEST_DEVICE_H_
