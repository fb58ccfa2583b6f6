#include "encore/backends/lowering/trial.h"

#include <chrono>

#include "encore/backends/kernel_binary.h"
#include "encore/backends/lowering/made_up_data.h"
#include "encore/backends/lowering/paired_times.h"
#include "encore/backends/region/layout.h"
#include "encore/backends/region/place.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {
namespace {

Literal DataOf(const Operand& operand, uint64_t seed) {
  Literal data = MadeUpData(operand.dtype, MemoryDimsOf(operand), seed);
  std::vector<int64_t> dims;
  for (const Dim& dim : operand.dims) dims.push_back(dim.constant());
  Place(operand.dtype, std::move(dims), operand.layout,
        data.mutable_bytes().data())
      .ClearPadding();
  return data;
}

int64_t BytesOf(const Operand& operand) {
  return MemoryBytes(operand.dtype, operand.dims, operand.layout).constant();
}

}  // namespace

std::vector<int64_t> MemoryDimsOf(const Operand& operand) {
  std::vector<int64_t> dims;
  for (const Dim& dim : MemoryDims(operand.dims, operand.layout)) {
    dims.push_back(dim.constant());
  }
  return dims;
}

StatusOr<Memory> Memory::Make(runtime::Device* device, int64_t bytes) {
  ENCORE_ASSIGN_OR_RETURN(void* const data, device->Allocate(bytes));
  return Memory(device, data, bytes);
}

StatusOr<Bench> Bench::Make(const Backend& backend, const Region& region,
                            runtime::ThreadPool* threads) {
  Bench bench;
  bench.threads = threads;
  ENCORE_ASSIGN_OR_RETURN(bench.device, backend.NewDevice(0));
  if (bench.device->queue_count() > 0) {
    ENCORE_ASSIGN_OR_RETURN(bench.queue, bench.device->NewQueue());
  }
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    const Literal data = DataOf(region.inputs[i], i + 1);
    const auto bytes = static_cast<int64_t>(data.bytes().size());
    ENCORE_ASSIGN_OR_RETURN(Memory memory,
                            Memory::Make(bench.device.get(), bytes));
    ENCORE_RETURN_IF_ERROR(bench.device->CopyFromHost(
        memory.data(), data.bytes().data(), bytes, bench.queue.get()));
    if (bench.queue != nullptr) {
      ENCORE_RETURN_IF_ERROR(bench.queue->Synchronize());
    }
    bench.inputs.push_back(std::move(memory));
  }
  return bench;
}

StatusOr<Trial> Trial::Make(const Backend& backend,
                            const CompileRequest& request,
                            const CompileOptions& options, Bench* bench) {
  Trial trial(bench);
  ENCORE_RETURN_IF_ERROR(trial.Load(backend, request, options));
  return trial;
}

StatusOr<double> Trial::Time() const {
  const auto begin = std::chrono::steady_clock::now();
  ENCORE_RETURN_IF_ERROR(Launch());
  return SecondsSince(begin);
}

StatusOr<Literal> Trial::Output(const Region& region, size_t i) const {
  Literal output(region.outputs[i].dtype, MemoryDimsOf(region.outputs[i]));
  const std::span<std::byte> bytes = output.mutable_bytes();
  ENCORE_RETURN_IF_ERROR(bench_->device->CopyToHost(
      bytes.data(), outputs_[i].data(), static_cast<int64_t>(bytes.size()),
      bench_->queue.get()));
  if (bench_->queue != nullptr) {
    ENCORE_RETURN_IF_ERROR(bench_->queue->Synchronize());
  }
  return output;
}

Status Trial::Load(const Backend& backend, const CompileRequest& request,
                   const CompileOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(
      const CompiledModule module,
      backend.Compile({&request, 1}, options, /*store=*/nullptr));
  const CompiledKernel& compiled = module.kernels[0];
  const Region& region = *request.kernel.region;
  const int64_t scratch = compiled.scratch.constant();
  // The kernel, then what packs for it.
  std::vector<const KernelCode*> codes = {&compiled.code};
  std::vector<runtime::KernelBinary> binaries = {KernelBinaryOf(
      backend.name(), compiled.code, ShapeOfLaunch(region, compiled))};
  for (const PackedInput& packed : compiled.packed) {
    codes.push_back(&packed.code);
    binaries.push_back(
        KernelBinaryOf(backend.name(), packed.code, kShapeOfPacking));
  }
  std::vector<runtime::LoadRequest> requests;
  for (size_t i = 0; i < codes.size(); ++i) {
    requests.push_back(LoadRequestOf(module, *codes[i], binaries[i]));
  }
  ENCORE_ASSIGN_OR_RETURN(auto loaded,
                          bench_->device->Load(requests, bench_->threads));
  for (const Memory& input : bench_->inputs) buffers_.Add(input);
  for (size_t i = 0; i < compiled.packed.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(Pack(*loaded[i + 1], compiled.packed[i]));
  }
  for (const Operand& operand : region.outputs) {
    ENCORE_RETURN_IF_ERROR(AddMemory(BytesOf(operand), &outputs_));
  }
  if (scratch > 0) ENCORE_RETURN_IF_ERROR(AddMemory(scratch, &others_));
  kernel_ = std::move(loaded[0]);
  return Launch();
}

Status Trial::AddMemory(int64_t bytes, std::vector<Memory>* list) {
  ENCORE_ASSIGN_OR_RETURN(Memory memory,
                          Memory::Make(bench_->device.get(), bytes));
  buffers_.Add(memory);
  list->push_back(std::move(memory));
  return OkStatus();
}

Status Trial::Pack(const runtime::Kernel& packer, const PackedInput& packed) {
  ENCORE_ASSIGN_OR_RETURN(Memory memory,
                          Memory::Make(bench_->device.get(), packed.bytes));
  Buffers buffers;
  buffers.Add(bench_->inputs[packed.input]);
  buffers.Add(memory);
  ENCORE_RETURN_IF_ERROR(Launch(packer, buffers));
  buffers_.data[packed.input] = memory.data();
  buffers_.sizes[packed.input] = memory.bytes();
  others_.push_back(std::move(memory));
  return OkStatus();
}

Status Trial::Launch(const runtime::Kernel& kernel,
                     const Buffers& buffers) const {
  runtime::LaunchContext context;
  context.buffers = buffers.data.data();
  context.sizes = buffers.sizes.data();
  context.threads = bench_->threads;
  context.queue = bench_->queue.get();
  ENCORE_RETURN_IF_ERROR(kernel.Launch(context));
  return bench_->queue == nullptr ? OkStatus() : bench_->queue->Synchronize();
}

}  // namespace encore::backends
