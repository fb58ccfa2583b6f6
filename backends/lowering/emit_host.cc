// The emitter's part for nodes on host objects: launches on the device "host".

#include <algorithm>
#include <utility>

#include "encore/backends/host/program.h"
#include "encore/backends/lowering/emitter.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

using host::HostEntry;
using host::HostProgram;
using runtime::KernelBinaryId;
using runtime::kHostPool;
using runtime::SlotId;

bool IsObject(const TensorType& type) {
  return HostProgram::IsObject(type.dtype, type.kind);
}

void AddDims(const Shape& shape, std::vector<Dim>* args) {
  args->insert(args->end(), shape.dims().begin(), shape.dims().end());
}

}  // namespace

runtime::Launch Emitter::HostLaunch(const HostProgram& host) {
  runtime::CompiledGraph* graph = shared_->graph;
  if (!shared_->host_device.valid()) {
    shared_->host_device =
        runtime::DeviceId(static_cast<uint32_t>(graph->devices.size()));
    graph->devices.push_back({host::kHostBackend, 0, kHostPool});
  }
  std::vector<std::byte> params = EncodeHostProgram(host);
  const auto [it, added] =
      shared_->host_programs.try_emplace(std::move(params));
  if (added) {
    runtime::KernelBinary program;
    program.backend = host::kHostBackend;
    program.entry = host.entry == HostEntry::kOp         ? Mnemonic(host.op)
                    : host.entry == HostEntry::kConstant ? "constant"
                                                         : "unpack";
    program.params = it->first;
    program.reads = host.reads();
    program.writes = host.writes();
    program.args = host.args();
    it->second = runtime::AddKernelBinary(graph, std::move(program));
  }
  runtime::Launch launch;
  launch.binary = it->second;
  launch.device = shared_->host_device;
  return launch;
}

SlotId Emitter::ConstantObject(const Literal& literal) {
  HostProgram host;
  host.entry = HostEntry::kConstant;
  host.attributes = ConstantAttrs{literal};
  // Its dims are known: the kernel does not ask for them.
  host.results.push_back({literal.dtype(), ValueKind::kTensor, 0, false});
  const SlotId slot = NewHostValue(literal.type());
  runtime::Launch launch = HostLaunch(host);
  launch.writes = {slot};
  Add(std::move(launch), {});
  return slot;
}

bool Emitter::MayDonate(NodeId node, int operand) const {
  const ValueId value = graph_.operand(node, operand);
  if (!donatable_.contains(slots_[value.value()])) return false;
  if (uses_[value.value()] == 1) return true;
  // To append to a sequence, its length is read first.
  if (graph_.op(node) != Op::kSequenceInsert || operand != 0) return false;
  const NodeId length = graph_.producer(graph_.operand(node, 2));
  return uses_[value.value()] == 2 &&
         graph_.op(length) == Op::kSequenceLength &&
         graph_.operand(length, 0) == value;
}

bool Emitter::DefinesSymbols(NodeId node, const Shape& shape) const {
  return std::ranges::any_of(shape.dims(), [&](const Dim& dim) {
    const auto symbol = dim.symbol();
    return symbol && finders_.Of(*symbol) == node;
  });
}

Status Emitter::DefineSizes(NodeId node, const Shape& shape, SlotId dims) {
  for (int d = 0; d < shape.rank(); ++d) {
    const auto symbol = shape[d].symbol();
    if (!symbol || finders_.Of(*symbol) != node) continue;
    // A dim that repeats a symbol is checked when the tensor is unpacked.
    if (shared_->symbols_found[*symbol]) {
      const runtime::SymbolInfo& info = shared_->graph->symbols[*symbol];
      if (info.index == dims.value()) continue;
      return InvalidArgumentError(StrCat("node ", node.value(),
                                         ": its size is a symbol that has a "
                                         "value already"));
    }
    shared_->symbols_found[*symbol] = true;
    runtime::SymbolInfo& info = shared_->graph->symbols[*symbol];
    info.source = runtime::SymbolInfo::Source::kSlot;
    info.index = dims.value();
    info.element = static_cast<uint32_t>(d);
  }
  return OkStatus();
}

SlotId Emitter::ResultSlot(ValueId value) {
  SlotId& slot = slots_[value.value()];
  if (const auto claim = claims_.find(value); claim != claims_.end()) {
    slot = claim->second;
  } else {
    slot = NewHostValue(graph_.type(value));
    if (IsObject(graph_.type(value))) donatable_.insert(slot);
  }
  return slot;
}

void Emitter::Unpack(NodeId node, SlotId box, ValueId value) {
  const TensorType& type = graph_.type(value);
  HostProgram host;
  host.entry = HostEntry::kUnpack;
  host.op = Op::kOptionalGet;
  host.attributes = ElementAttrs{};
  host.operands.push_back({type.dtype, ValueKind::kOptional, 0, true});
  host.results.push_back({type.dtype, ValueKind::kTensor,
                          static_cast<uint32_t>(type.shape.rank()), false});
  const SlotId slot = ResultSlot(value);
  runtime::Launch launch = HostLaunch(host);
  launch.reads = {box};
  launch.writes = {slot, box};
  AddDims(type.shape, &launch.args);
  Add(std::move(launch), OriginOf(node));
}

Status Emitter::EmitHost(NodeId node) {
  HostProgram host;
  host.op = graph_.op(node);
  host.attributes = graph_.attributes(node);
  std::vector<SlotId> reads, writes, donated;
  std::vector<Dim> args;
  const int operands = static_cast<int>(graph_.operands(node).size());
  for (int i = 0; i < operands; ++i) {
    const ValueId value = graph_.operand(node, i);
    const TensorType& type = graph_.type(value);
    ENCORE_ASSIGN_OR_RETURN(const SlotId slot, In(value, kHostPool, false));
    reads.push_back(slot);
    const bool donate = IsObject(type) && MayDonate(node, i);
    if (donate) donated.push_back(slot);
    if (!IsObject(type)) AddDims(type.shape, &args);
    host.operands.push_back({type.dtype, type.kind,
                             static_cast<uint32_t>(type.shape.rank()), donate});
  }
  // Packed tensors of data-dependent sizes: the object, then the value.
  std::vector<std::pair<SlotId, ValueId>> packed;
  for (int i = 0; i < graph_.result_count(node); ++i) {
    const ValueId value = graph_.result(node, i);
    const TensorType& type = graph_.type(value);
    const bool sized = DefinesSymbols(node, type.shape);
    host.results.push_back({type.dtype, type.kind,
                            static_cast<uint32_t>(type.shape.rank()), sized});
    if (!sized || IsObject(type)) {
      writes.push_back(ResultSlot(value));
    } else {
      writes.push_back(
          NewHostValue({type.dtype, Shape(), ValueKind::kOptional}));
      packed.emplace_back(writes.back(), value);
    }
    if (sized) {
      const SlotId dims =
          NewHostValue({DType::kI64, Shape({Dim(type.shape.rank())})});
      writes.push_back(dims);
      ENCORE_RETURN_IF_ERROR(DefineSizes(node, type.shape, dims));
    }
    if (type.kind != ValueKind::kTensor) continue;
    for (const Dim& dim : type.shape.dims()) {
      args.push_back(finders_.Finds(node, dim) ? Dim(0) : dim);
    }
  }
  writes.insert(writes.end(), donated.begin(), donated.end());
  runtime::Launch launch = HostLaunch(host);
  launch.reads = std::move(reads);
  launch.writes = std::move(writes);
  launch.args = std::move(args);
  Add(std::move(launch), OriginOf(node));
  for (const auto& [box, value] : packed) Unpack(node, box, value);
  return OkStatus();
}

Status Emitter::EnsureSizes(std::span<const Dim> symbols) {
  for (const Dim& dim : symbols) {
    const auto symbol = dim.symbol();
    const NodeId finder = symbol ? finders_.Of(*symbol) : NodeId();
    if (!finder.valid() || !graph_.info(finder).has(kNonFlatValues)) continue;
    ENCORE_RETURN_IF_ERROR(Ensure(graph_.result(finder)));
  }
  return OkStatus();
}

}  // namespace encore::backends
