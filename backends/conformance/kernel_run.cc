#include "encore/backends/conformance/kernel_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "encore/backends/kernel_binary.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {
namespace {

constexpr std::byte kGarbage{0xb5};
// Behind each buffer: what no kernel may change.
constexpr size_t kGuard = 64;

// Memory of the device with garbage in it and behind it.
class DeviceBuffer {
 public:
  static StatusOr<DeviceBuffer> Make(runtime::Device* device, int64_t bytes) {
    DeviceBuffer buffer;
    buffer.device_ = device;
    buffer.bytes_ = bytes;
    ENCORE_ASSIGN_OR_RETURN(void* const data, device->Allocate(bytes + kGuard));
    buffer.data_ = std::shared_ptr<void>(data, [device, bytes](void* memory) {
      device->Deallocate(memory, bytes + kGuard);
    });
    const std::vector<std::byte> garbage(bytes + kGuard, kGarbage);
    ENCORE_RETURN_IF_ERROR(buffer.Write(garbage));
    return buffer;
  }

  void* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

  Status Write(std::span<const std::byte> bytes) const {
    return device_->CopyFromHost(data(), bytes.data(),
                                 static_cast<int64_t>(bytes.size()), nullptr);
  }
  // Internal where something was written behind it.
  StatusOr<std::vector<std::byte>> Read() const {
    std::vector<std::byte> bytes(bytes_ + kGuard);
    ENCORE_RETURN_IF_ERROR(device_->CopyToHost(
        bytes.data(), data(), static_cast<int64_t>(bytes.size()), nullptr));
    if (!std::all_of(bytes.end() - kGuard, bytes.end(),
                     [](std::byte byte) { return byte == kGarbage; })) {
      return InternalError("a kernel wrote behind a buffer");
    }
    bytes.resize(bytes_);
    return bytes;
  }

 private:
  runtime::Device* device_ = nullptr;
  std::shared_ptr<void> data_;
  int64_t bytes_ = 0;
};

class KernelRun {
 public:
  KernelRun(const CompileRequest& request, std::span<const int64_t> symbols)
      : region_(*request.kernel.region), symbols_(symbols), threads_(2) {}

  Status Load(const Backend& backend, const CompileRequest& request) {
    CompileOptions options;
    options.cpu_kernels = CpuKernels::kGenerated;
    ENCORE_ASSIGN_OR_RETURN(module_,
                            backend.Compile({&request, 1}, options, nullptr));
    ENCORE_ASSIGN_OR_RETURN(device_, backend.NewDevice(0));
    const CompiledKernel& kernel = module_.kernels[0];
    ENCORE_ASSIGN_OR_RETURN(scratch_, Evaluate(kernel.scratch));
    ENCORE_RETURN_IF_ERROR(
        LoadCode(kernel.code, ShapeOfLaunch(region_, kernel)));
    for (const PackedInput& packed : kernel.packed) {
      ENCORE_RETURN_IF_ERROR(LoadCode(packed.code, kShapeOfPacking));
    }
    return OkStatus();
  }

  StatusOr<std::vector<Literal>> Run(std::span<const Literal> inputs,
                                     bool in_place) {
    std::vector<DeviceBuffer> buffers;
    for (const Literal& input : inputs) {
      ENCORE_RETURN_IF_ERROR(Add(input.bytes().size(), &buffers));
      ENCORE_RETURN_IF_ERROR(buffers.back().Write(input.bytes()));
    }
    const CompiledKernel& kernel = module_.kernels[0];
    for (size_t i = 0; i < kernel.packed.size(); ++i) {
      const PackedInput& packed = kernel.packed[i];
      std::vector<DeviceBuffer> pair = {buffers[packed.input]};
      ENCORE_RETURN_IF_ERROR(Add(packed.bytes, &pair));
      ENCORE_RETURN_IF_ERROR(Launch(i + 1, pair));
      buffers[packed.input] = pair[1];
    }
    std::vector<bool> kept(inputs.size(), kernel.packed.empty());
    for (uint32_t i = 0; i < region_.outputs.size(); ++i) {
      const auto pair = std::ranges::find_if(
          kernel.in_place, [i](const auto& place) { return place.write == i; });
      if (in_place && pair != kernel.in_place.end() && kept[pair->read]) {
        kept[pair->read] = false;
        buffers.push_back(buffers[pair->read]);
        continue;
      }
      const Literal shape(region_.outputs[i].dtype,
                          MemoryExtents(region_.outputs[i], symbols_));
      ENCORE_RETURN_IF_ERROR(Add(shape.bytes().size(), &buffers));
    }
    if (!(kernel.scratch == Dim(0))) {
      ENCORE_RETURN_IF_ERROR(Add(scratch_, &buffers));
    }
    ENCORE_RETURN_IF_ERROR(Launch(0, buffers));
    return Results(inputs, kept, buffers);
  }

 private:
  StatusOr<int64_t> Evaluate(const Dim& dim) const {
    const auto value = dim.Evaluate(symbols_);
    if (!value) return InternalError("a size without a value");
    return *value;
  }

  Status Add(size_t bytes, std::vector<DeviceBuffer>* buffers) {
    ENCORE_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Make(device_.get(), static_cast<int64_t>(bytes)));
    buffers->push_back(std::move(buffer));
    return OkStatus();
  }

  Status LoadCode(const KernelCode& code, const LaunchShape& shape) {
    ENCORE_ASSIGN_OR_RETURN(
        auto kernel, LoadKernel(*device_, module_, code, shape, &threads_));
    kernels_.push_back(std::move(kernel));
    return OkStatus();
  }

  Status Launch(size_t kernel, const std::vector<DeviceBuffer>& buffers) {
    std::vector<void*> data;
    std::vector<int64_t> sizes;
    for (const DeviceBuffer& buffer : buffers) {
      data.push_back(buffer.data());
      sizes.push_back(buffer.bytes());
    }
    runtime::LaunchContext context;
    context.buffers = data.data();
    context.sizes = sizes.data();
    context.args = symbols_.data();
    context.threads = &threads_;
    return kernels_[kernel]->Launch(context);
  }

  StatusOr<std::vector<Literal>> Results(
      std::span<const Literal> inputs, const std::vector<bool>& kept,
      const std::vector<DeviceBuffer>& buffers) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      ENCORE_ASSIGN_OR_RETURN(const auto bytes, buffers[i].Read());
      if (kept[i] && !std::ranges::equal(bytes, inputs[i].bytes())) {
        return InternalError("a kernel wrote into an input");
      }
    }
    std::vector<Literal> results;
    for (size_t i = 0; i < region_.outputs.size(); ++i) {
      const Operand& output = region_.outputs[i];
      ENCORE_ASSIGN_OR_RETURN(const auto bytes,
                              buffers[inputs.size() + i].Read());
      ENCORE_ASSIGN_OR_RETURN(
          Literal result,
          Literal::Copy(output.dtype, MemoryExtents(output, symbols_), bytes));
      results.push_back(std::move(result));
    }
    return results;
  }

  const Region& region_;
  std::span<const int64_t> symbols_;
  runtime::ThreadPool threads_;
  CompiledModule module_;
  std::unique_ptr<runtime::Device> device_;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels_;
  int64_t scratch_ = 0;
};

}  // namespace

std::vector<int64_t> MemoryExtents(const Operand& operand,
                                   std::span<const int64_t> symbols) {
  std::vector<int64_t> extents;
  for (const Dim& dim : MemoryDims(operand.dims, operand.layout)) {
    extents.push_back(dim.Evaluate(symbols).value_or(0));
  }
  return extents;
}

StatusOr<std::vector<Literal>> RunKernel(const Backend& backend,
                                         const CompileRequest& request,
                                         std::span<const Literal> inputs,
                                         std::span<const int64_t> symbols,
                                         bool in_place) {
  KernelRun run(request, symbols);
  ENCORE_RETURN_IF_ERROR(run.Load(backend, request));
  return run.Run(inputs, in_place);
}

}  // namespace encore::backends
