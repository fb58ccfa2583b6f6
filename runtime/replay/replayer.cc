#include "encore/runtime/replay/replayer.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/runtime/device/warm_pool.h"
#include "encore/runtime/plan/shared_memory.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {

Replayer::Replayer(std::shared_ptr<const Executable> executable,
                   std::shared_ptr<const Weights> weights, ThreadPool* threads)
    : executable_(std::move(executable)),
      weights_(std::move(weights)),
      threads_(threads),
      graph_(&executable_->graph()) {
  frame_.emplace(*graph_, executable_->run(), executable_->devices(), threads);
}

StatusOr<std::unique_ptr<Replayer>> Replayer::Create(
    std::shared_ptr<const Executable> executable,
    std::shared_ptr<const Weights> weights, ThreadPool* threads) {
  ENCORE_CHECK(weights != nullptr &&
               &weights->executable() == executable.get());
  std::unique_ptr<Replayer> replayer(
      new Replayer(std::move(executable), std::move(weights), threads));
  ENCORE_RETURN_IF_ERROR(replayer->Init());
  return replayer;
}

Replayer::~Replayer() {
  if (frame_->in_flight()) (void)frame_->Synchronize();
  for (const std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) {
      if (port.own == nullptr) continue;
      DeallocateOn(DeviceOf(port), port.own, port.own_bytes);
    }
  }
}

Device* Replayer::DeviceOf(const Port& port) const {
  return executable_->pool_device(executable_->graph().slot(port.slot).pool);
}

Replayer::Port Replayer::MakePort(SlotId id) const {
  const CompiledGraph& graph = executable_->graph();
  const Slot& slot = graph.slot(id);
  Port port;
  port.slot = id;
  port.is_host_object = slot.is_host_object();
  port.alignment = std::max(1, BitWidth(slot.type.dtype) / 8);
  port.run_time_sized = IsRunTimeSized(graph, slot.bytes);
  if (slot.bytes.is_constant()) port.static_bytes = slot.bytes.constant();
  if (slot.type.shape.is_constant()) {
    port.dims = slot.type.shape.ConstantDims();
  }
  return port;
}

Status Replayer::Init() {
  const CompiledGraph& graph = executable_->graph();
  for (const SlotId slot : graph.inputs) inputs_.push_back(MakePort(slot));
  for (const SlotId slot : graph.outputs) outputs_.push_back(MakePort(slot));
  ranges_.reserve(inputs_.size() + outputs_.size());
  unbound_inputs_ = inputs_.size();
  const Status status = StartFrame();
  return CanShrink(status) ? Shrink() : status;
}

Status Replayer::CheckDims(size_t i, std::span<const int64_t> dims) const {
  const Slot& slot = executable_->graph().slot(inputs_[i].slot);
  const std::vector<Dim>& expected = slot.type.shape.dims();
  bool fits = dims.size() == expected.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    fits = dims[d] >= 0 &&
           (!expected[d].is_constant() || expected[d].constant() == dims[d]);
  }
  if (fits) return OkStatus();
  return InvalidArgumentError(StrCat("input ", i, " is ", slot.type.ToString(),
                                     ", its buffer has dims [",
                                     StrJoin(dims, ","), "]"));
}

StatusOr<std::span<const int64_t>> Replayer::CheckInput(
    size_t i, const void* data, int64_t bytes,
    std::span<const int64_t> dims) const {
  if (i >= inputs_.size()) {
    return InvalidArgumentError(
        StrCat("no input ", i, ", the graph has ", inputs_.size()));
  }
  const Port& port = inputs_[i];
  const TensorType& type = executable_->graph().slot(port.slot).type;
  // Without dims they are the shape's own, where that is constant.
  if (dims.empty() && type.shape.is_constant()) dims = port.dims;
  ENCORE_RETURN_IF_ERROR(CheckDims(i, dims));
  int64_t expected = port.static_bytes;
  if (expected < 0) {
    const std::optional<int64_t> count = ElementCount(dims);
    expected = count ? ByteSize(type.dtype, *count).value_or(-1) : -1;
  }
  if (port.is_host_object || bytes != expected ||
      reinterpret_cast<uintptr_t>(data) % port.alignment != 0 ||
      (data == nullptr && bytes > 0)) {
    return InvalidArgumentError(
        StrCat("input ", i, " takes ", expected, " bytes aligned to ",
               port.alignment, ", its buffer has ", bytes,
               port.is_host_object ? " (a host object)" : ""));
  }
  return dims;
}

Status Replayer::BindInput(size_t i, const void* data, int64_t bytes,
                           std::span<const int64_t> dims) {
  ENCORE_ASSIGN_OR_RETURN(dims, CheckInput(i, data, bytes, dims));
  SetInput(i, data, dims);
  return OkStatus();
}

Status Replayer::BindHostInput(size_t i, const void* data, int64_t bytes,
                               std::span<const int64_t> dims) {
  ENCORE_ASSIGN_OR_RETURN(dims, CheckInput(i, data, bytes, dims));
  Port& port = inputs_[i];
  Device* device = DeviceOf(port);
  if (device == nullptr) {
    SetInput(i, data, dims);
    return OkStatus();
  }
  // An earlier replay may still read the copy of before.
  if (frame_->in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
  Status status = Reserve(port, bytes);
  // Outputs of the replay before stay where they are.
  if (!has_outputs_ && CanShrink(status)) {
    ENCORE_RETURN_IF_ERROR(Poison(Shrink()));
    status = Reserve(port, bytes);
  }
  if (status.ok() && bytes > 0) {
    status = device->CopyFromHost(port.own, data, bytes, nullptr);
  }
  if (status.ok()) {
    SetInput(i, port.own, dims);
  } else if (port.is_bound) {
    port.is_bound = false;
    ++unbound_inputs_;
    bindings_changed_ = true;
  }
  return status;
}

Status Replayer::BindInput(size_t i, const HostObject* object) {
  if (i >= inputs_.size() || !inputs_[i].is_host_object || object == nullptr) {
    return InvalidArgumentError(StrCat("input ", i, " takes no host object"));
  }
  const TensorType& type = executable_->graph().slot(inputs_[i].slot).type;
  const Literal& value = object->value;
  if (value.dtype() != type.dtype || value.kind() != type.kind) {
    return InvalidArgumentError(StrCat("input ", i, " is ", type.ToString(),
                                       ", not ", value.type().ToString()));
  }
  ENCORE_RETURN_IF_ERROR(CheckDims(i, value.dims()));
  SetInput(i, object, value.dims());
  return OkStatus();
}

void Replayer::SetInput(size_t i, const void* data,
                        std::span<const int64_t> dims) {
  Port& port = inputs_[i];
  if (!std::ranges::equal(port.dims, dims)) {
    port.dims.assign(dims.begin(), dims.end());
    symbols_changed_ = true;
  }
  if (!port.is_bound) --unbound_inputs_;
  port.is_bound = true;
  port.data = data;
  bindings_changed_ = true;
  frame_->SetAddress(port.slot, const_cast<void*>(data));
}

Status Replayer::BindOutput(size_t i, void* data, int64_t bytes) {
  if (i >= outputs_.size() || outputs_[i].is_host_object) {
    return InvalidArgumentError(
        StrCat("no output ", i, " that a buffer can hold"));
  }
  Port& port = outputs_[i];
  const int64_t least = std::max<int64_t>(port.static_bytes, 0);
  if (reinterpret_cast<uintptr_t>(data) % port.alignment != 0 ||
      (data != nullptr && bytes < least)) {
    return InvalidArgumentError(StrCat("output ", i, " takes ", least,
                                       " bytes aligned to ", port.alignment,
                                       ", its buffer has ", bytes));
  }
  port.data = data;
  port.bytes = bytes;
  bindings_changed_ = true;
  return OkStatus();
}

Status Replayer::SettleSymbols() {
  const CompiledGraph& graph = executable_->graph();
  const std::span<int64_t> symbols = frame_->symbols();
  for (size_t s = 0; s < symbols.size(); ++s) {
    const SymbolInfo& info = graph.symbols[s];
    if (info.source != SymbolInfo::Source::kInputDim) continue;
    const int64_t value = inputs_[info.index].dims[info.element];
    if (value < info.lower || value > info.upper) {
      return InvalidArgumentError(
          StrCat("dim ", info.element, " of input ", info.index, " is ", value,
                 ", it must lie in [", info.lower, ", ", info.upper, "]"));
    }
    symbols[s] = value;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<Dim>& dims =
        graph.slot(inputs_[i].slot).type.shape.dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      const std::optional<int64_t> value = dims[d].Evaluate(symbols);
      if (value == inputs_[i].dims[d]) continue;
      return InvalidArgumentError(
          StrCat("dim ", d, " of input ", i, " is ", inputs_[i].dims[d],
                 ", the other inputs make it ", value.value_or(-1)));
    }
  }
  ENCORE_RETURN_IF_ERROR(frame_->Resize());
  symbols_changed_ = false;
  return OkStatus();
}

Status Replayer::SettleOutput(Port& port) {
  if (port.is_host_object) return OkStatus();
  if (port.run_time_sized) {
    frame_->SetRunTimeBuffer(port.slot, const_cast<void*>(port.data),
                             port.bytes);
    return OkStatus();
  }
  const int64_t bytes = frame_->bytes(port.slot);
  if (port.data != nullptr) {
    if (port.bytes < bytes) {
      return InvalidArgumentError(
          StrCat("output in slot ", port.slot.value(), " takes ", bytes,
                 " bytes, its buffer has ", port.bytes));
    }
    frame_->SetAddress(port.slot, const_cast<void*>(port.data));
    return OkStatus();
  }
  ENCORE_RETURN_IF_ERROR(Reserve(port, bytes));
  frame_->SetAddress(port.slot, port.own);
  return OkStatus();
}

Status Replayer::Reserve(Port& port, int64_t bytes) {
  if (port.own != nullptr && port.own_bytes >= bytes) return OkStatus();
  Device* device = DeviceOf(port);
  // An earlier replay may still use it.
  if (frame_->in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
  if (port.own != nullptr) DeallocateOn(device, port.own, port.own_bytes);
  port.own = nullptr;
  ENCORE_ASSIGN_OR_RETURN(port.own, AllocateOn(device, bytes));
  port.own_bytes = bytes;
  return OkStatus();
}

Status Replayer::CheckOverlap() {
  ranges_.clear();  // within its reserved memory
  const auto add = [this](const Port& port, int64_t bytes, bool is_output) {
    if (port.data == nullptr || port.is_host_object || bytes <= 0) return;
    const auto begin = reinterpret_cast<uintptr_t>(port.data);
    ranges_.push_back({begin, begin + bytes, is_output});
  };
  for (const Port& port : inputs_) add(port, frame_->bytes(port.slot), false);
  for (const Port& port : outputs_) {
    add(port, port.run_time_sized ? port.bytes : frame_->bytes(port.slot),
        true);
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  uintptr_t end = 0, output_end = 0;
  for (const Range& range : ranges_) {
    if (range.begin < output_end || (range.is_output && range.begin < end)) {
      return CheckShared();
    }
    end = std::max(end, range.end);
    if (range.is_output) output_end = std::max(output_end, range.end);
  }
  return OkStatus();
}

Status Replayer::CheckShared() const {
  const auto range = [this](const Port& port) -> Range {
    if (port.data == nullptr || port.is_host_object) return {};
    const auto begin = reinterpret_cast<uintptr_t>(port.data);
    const int64_t bytes =
        port.run_time_sized ? port.bytes : frame_->bytes(port.slot);
    return {begin, begin + bytes};
  };
  const auto overlap = [](const Range& a, const Range& b) {
    return a.begin < b.end && b.begin < a.end;
  };
  // Waits between queues know inputs and outputs as memory apart.
  const bool in_order = std::ranges::all_of(
      executable_->devices(),
      [](const auto& device) { return device->queue_count() == 0; });
  for (size_t j = 0; j < outputs_.size(); ++j) {
    const Range to = range(outputs_[j]);
    for (size_t k = 0; k < j; ++k) {
      if (!overlap(range(outputs_[k]), to)) continue;
      return InvalidArgumentError(
          StrCat("the buffer of output ", j, " overlaps that of output ", k));
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Range from = range(inputs_[i]);
      if (!overlap(from, to)) continue;
      const bool is_same = from.begin == to.begin && from.end == to.end;
      if (is_same && in_order &&
          MayShareMemory(*graph_, inputs_[i].slot, outputs_[j].slot)) {
        continue;
      }
      return InvalidArgumentError(StrCat(
          "the buffer of output ", j, " overlaps that of input ", i,
          is_same ? ", which may be read while the output is written" : ""));
    }
  }
  return OkStatus();
}

Status Replayer::Rebind() {
  if (unbound_inputs_ > 0) {
    size_t i = 0;
    while (inputs_[i].is_bound) ++i;
    return FailedPreconditionError(StrCat("input ", i, " is not bound"));
  }
  if (symbols_changed_) ENCORE_RETURN_IF_ERROR(SettleSymbols());
  for (Port& port : outputs_) ENCORE_RETURN_IF_ERROR(SettleOutput(port));
  ENCORE_RETURN_IF_ERROR(CheckOverlap());
  bindings_changed_ = false;
  return OkStatus();
}

Status Replayer::Start() {
  if (!poison_.ok()) [[unlikely]] {
    return FailedPreconditionError(
        StrCat("an earlier replay failed: ", Message(poison_)));
  }
  if (bindings_changed_ || symbols_changed_) {
    const Status status = Rebind();
    return CanShrink(status) ? RebindSmaller() : status;
  }
  return OkStatus();
}

template <typename Run>
Status Replayer::RunInMemory(const Run& run) {
  has_outputs_ = true;
  const Status status = run();
  if (status.ok()) [[likely]]
    return status;
  if (!CanShrink(status)) return Poison(status);
  ENCORE_RETURN_IF_ERROR(Poison(Shrink()));
  ENCORE_RETURN_IF_ERROR(Rebind());
  has_outputs_ = true;
  return Poison(run());
}

Status Replayer::Poison(Status status) {
  if (!status.ok() && status.code() != StatusCode::kCancelled) {
    poison_ = status;
  }
  return status;
}

Status Replayer::Replay(Profiler* profiler) {
  ENCORE_RETURN_IF_ERROR(Start());
  if (frame_->in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
  // Events of a run that is given up would be of another plan.
  if (profiler != nullptr) {
    has_outputs_ = true;
    return Poison(frame_->Run(profiler));
  }
  return RunInMemory([&] { return frame_->Run(nullptr); });
}

Status Replayer::Enqueue(DeviceId device, Queue& caller) {
  if (device.value() >= executable_->devices().size()) {
    return InvalidArgumentError(StrCat("no device ", device.value(),
                                       ", the graph has ",
                                       executable_->devices().size()));
  }
  if (executable_->devices()[device.value()]->queue_count() == 0) {
    return InvalidArgumentError(
        StrCat("device ", device.value(), " has no queues: call Replay"));
  }
  ENCORE_RETURN_IF_ERROR(Start());
  return RunInMemory([&] { return frame_->Enqueue(device, caller); });
}

Status Replayer::Synchronize() { return Poison(frame_->Synchronize()); }

const Step* Replayer::failed_step() const {
  const auto& fault = frame_->fault();
  if (!fault) return nullptr;
  return &graph_->plan(fault->plan).steps[fault->step];
}

std::optional<uint32_t> Replayer::failed_origin() const {
  const std::optional<uint32_t> at = frame_->failed_origin();
  if (!at) return std::nullopt;
  return failed_step()->origins[*at];
}

Replayer::Output Replayer::output(size_t i) {
  ENCORE_CHECK_LT(i, outputs_.size());
  Port& port = outputs_[i];
  const Slot& slot = executable_->graph().slot(port.slot);
  if (port.is_host_object) {
    return {
        nullptr, 0, {}, static_cast<HostObject*>(frame_->address(port.slot))};
  }
  const std::vector<Dim>& dims = slot.type.shape.dims();
  port.dims.resize(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    port.dims[d] = dims[d].Evaluate(frame_->symbols()).value_or(0);
  }
  return {frame_->address(port.slot), frame_->bytes(port.slot), port.dims,
          nullptr};
}

StatusOr<Literal> Replayer::CopyOutput(size_t i) {
  if (frame_->in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
  const Output from = output(i);
  if (from.object != nullptr) return from.object->value;
  const DType dtype = executable_->graph().slot(outputs_[i].slot).type.dtype;
  std::vector<int64_t> dims(from.dims.begin(), from.dims.end());
  Device* device = DeviceOf(outputs_[i]);
  if (device == nullptr) {
    return Literal::Copy(dtype, std::move(dims),
                         {static_cast<const std::byte*>(from.data),
                          static_cast<size_t>(from.bytes)});
  }
  Literal value(dtype, std::move(dims));
  const std::span<std::byte> bytes = value.mutable_bytes();
  ENCORE_CHECK_EQ(static_cast<int64_t>(bytes.size()), from.bytes);
  if (!bytes.empty()) {
    ENCORE_RETURN_IF_ERROR(
        device->CopyToHost(bytes.data(), from.data, from.bytes, nullptr));
  }
  return value;
}

}  // namespace encore::runtime
