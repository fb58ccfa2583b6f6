// Trial: one kernel for a region, compiled and loaded with buffers of its own,
// to be launched again and again.
#ifndef ENCORE_BACKENDS_LOWERING_TRIAL_H_
#define ENCORE_BACKENDS_LOWERING_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends {

// Memory of a device's pool.
class Memory {
 public:
  static StatusOr<Memory> Make(runtime::Device* device, int64_t bytes);
  Memory(Memory&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) device_->Deallocate(data_, bytes_);
  }

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  Memory(runtime::Device* device, void* data, int64_t bytes)
      : device_(device), data_(data), bytes_(bytes) {}

  runtime::Device* device_;
  void* data_;
  int64_t bytes_;
};

// A device with the inputs of a region without symbols. The inputs depend on
// their types alone: floats are in [-1, 1), integers small, so that indices
// stay within what they index.
struct Bench {
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Queue> queue;
  runtime::ThreadPool* threads = nullptr;
  std::vector<Memory> inputs;

  static StatusOr<Bench> Make(const Backend& backend, const Region& region,
                              runtime::ThreadPool* threads);
};

class Trial {
 public:
  // Launches once. `bench`, of the request's region, outlives the trial.
  // Errors: what Compile, Load and Launch give.
  static StatusOr<Trial> Make(const Backend& backend,
                              const CompileRequest& request,
                              const CompileOptions& options, Bench* bench);

  // One launch, to its end; Time gives its seconds.
  Status Launch() const { return Launch(*kernel_, buffers_); }
  StatusOr<double> Time() const;

  // Output i of the last launch, as it lies in memory.
  StatusOr<Literal> Output(const Region& region, size_t i) const;

 private:
  struct Buffers {
    std::vector<void*> data;
    std::vector<int64_t> sizes;
    void Add(const Memory& memory) {
      data.push_back(memory.data());
      sizes.push_back(memory.bytes());
    }
  };

  explicit Trial(Bench* bench) : bench_(bench) {}

  Status Load(const Backend& backend, const CompileRequest& request,
              const CompileOptions& options);
  // Memory that the kernel writes, as its next buffer; kept in `list`.
  Status AddMemory(int64_t bytes, std::vector<Memory>* list);
  // The packed form of an input in its place.
  Status Pack(const runtime::Kernel& packer, const PackedInput& packed);
  Status Launch(const runtime::Kernel& kernel, const Buffers& buffers) const;

  Bench* bench_;
  std::vector<Memory> outputs_, others_;
  Buffers buffers_;
  std::unique_ptr<runtime::Kernel> kernel_;
};

// The extents in memory of an operand of a region without symbols (MemoryDims).
std::vector<int64_t> MemoryDimsOf(const Operand& operand);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_TRIAL_H_
