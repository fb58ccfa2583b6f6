#include "encore/backends/lowering/host_emitter.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "encore/ir/support/status_macros.h"

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

HostEmitter::HostEmitter(const Graph& graph,
                         const SymbolDefinitions& definitions, PlanDraft* draft)
    : graph_(graph),
      definitions_(definitions),
      draft_(*draft),
      uses_(UseCounts(graph)) {}

runtime::Launch HostEmitter::Launch(const HostProgram& host) {
  runtime::CompiledGraph* graph = draft_.shared().graph;
  if (!draft_.shared().host_device.valid()) {
    draft_.shared().host_device =
        runtime::DeviceId(static_cast<uint32_t>(graph->devices.size()));
    graph->devices.push_back({host::kHostBackend, 0, kHostPool});
  }
  std::vector<std::byte> params = EncodeHostProgram(host);
  const auto [it, added] =
      draft_.shared().host_binaries.try_emplace(std::move(params));
  if (added) {
    runtime::KernelBinary binary;
    binary.backend = host::kHostBackend;
    binary.entry = host.entry == HostEntry::kOp         ? Mnemonic(host.op)
                   : host.entry == HostEntry::kConstant ? "constant"
                                                        : "unpack";
    binary.params = it->first;
    binary.reads = host.reads();
    binary.writes = host.writes();
    binary.args = host.args();
    it->second = runtime::AddKernelBinary(graph, std::move(binary));
  }
  runtime::Launch launch;
  launch.binary = it->second;
  launch.device = draft_.shared().host_device;
  return launch;
}

SlotId HostEmitter::Constant(const Literal& literal) {
  HostProgram host;
  host.entry = HostEntry::kConstant;
  host.attributes = ConstantAttrs{literal};
  // Its dims are known: the kernel does not ask for them.
  host.results.push_back({literal.dtype(), ValueKind::kTensor, 0, false});
  const SlotId slot = draft_.NewHostValue(literal.type());
  runtime::Launch launch = Launch(host);
  launch.writes = {slot};
  draft_.Add(std::move(launch), {});
  return slot;
}

bool HostEmitter::MayDonate(NodeId node, int operand) const {
  const ValueId value = graph_.operand(node, operand);
  if (!donatable_.contains(draft_.slot(value))) return false;
  if (uses_[value.value()] == 1) return true;
  // To append to a sequence, its length is read first.
  if (graph_.op(node) != Op::kSequenceInsert || operand != 0) return false;
  const NodeId length = graph_.producer(graph_.operand(node, 2));
  return uses_[value.value()] == 2 &&
         graph_.op(length) == Op::kSequenceLength &&
         graph_.operand(length, 0) == value;
}

bool HostEmitter::DefinesSymbols(NodeId node, const Shape& shape) const {
  return std::ranges::any_of(shape.dims(), [&](const Dim& dim) {
    const auto symbol = dim.symbol();
    return symbol && definitions_.Of(*symbol) == node;
  });
}

Status HostEmitter::DefineSizes(NodeId node, const Shape& shape, SlotId dims) {
  for (int d = 0; d < shape.rank(); ++d) {
    const auto symbol = shape[d].symbol();
    if (!symbol || definitions_.Of(*symbol) != node) continue;
    // A dim that repeats a symbol is checked when the tensor is unpacked.
    if (draft_.shared().symbols_found[*symbol] &&
        draft_.shared().graph->symbols[*symbol].index == dims.value()) {
      continue;
    }
    ENCORE_RETURN_IF_ERROR(
        draft_.DefineSymbol(node, *symbol, dims, static_cast<uint32_t>(d)));
  }
  return OkStatus();
}

SlotId HostEmitter::ResultSlot(ValueId value) {
  SlotId& slot = draft_.slot(value);
  if (const auto claim = claims_.find(value); claim != claims_.end()) {
    slot = claim->second;
  } else {
    slot = draft_.NewHostValue(graph_.type(value));
    if (IsObject(graph_.type(value))) donatable_.insert(slot);
  }
  return slot;
}

void HostEmitter::Unpack(NodeId node, SlotId box, ValueId value) {
  const TensorType& type = graph_.type(value);
  HostProgram host;
  host.entry = HostEntry::kUnpack;
  host.op = Op::kOptionalGet;
  host.attributes = ElementAttrs{};
  host.operands.push_back({type.dtype, ValueKind::kOptional, 0, true});
  host.results.push_back({type.dtype, ValueKind::kTensor,
                          static_cast<uint32_t>(type.shape.rank()), false});
  const SlotId slot = ResultSlot(value);
  runtime::Launch launch = Launch(host);
  launch.reads = {box};
  launch.writes = {slot, box};
  AddDims(type.shape, &launch.args);
  draft_.Add(std::move(launch), draft_.OriginOf(node));
}

Status HostEmitter::Emit(NodeId node, std::vector<SlotId> reads) {
  HostProgram host;
  host.op = graph_.op(node);
  host.attributes = graph_.attributes(node);
  std::vector<SlotId> writes, donated;
  std::vector<Dim> args;
  const int operands = static_cast<int>(graph_.operands(node).size());
  for (int i = 0; i < operands; ++i) {
    const ValueId value = graph_.operand(node, i);
    const TensorType& type = graph_.type(value);
    const bool donate = IsObject(type) && MayDonate(node, i);
    if (donate) donated.push_back(reads[i]);
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
          draft_.NewHostValue({type.dtype, Shape(), ValueKind::kOptional}));
      packed.emplace_back(writes.back(), value);
    }
    if (sized) {
      const SlotId dims =
          draft_.NewHostValue({DType::kI64, Shape({Dim(type.shape.rank())})});
      writes.push_back(dims);
      ENCORE_RETURN_IF_ERROR(DefineSizes(node, type.shape, dims));
    }
    if (type.kind != ValueKind::kTensor) continue;
    for (const Dim& dim : type.shape.dims()) {
      args.push_back(definitions_.Defines(node, dim) ? Dim(0) : dim);
    }
  }
  writes.insert(writes.end(), donated.begin(), donated.end());
  runtime::Launch launch = Launch(host);
  launch.reads = std::move(reads);
  launch.writes = std::move(writes);
  launch.args = std::move(args);
  draft_.Add(std::move(launch), draft_.OriginOf(node));
  for (const auto& [box, value] : packed) Unpack(node, box, value);
  return OkStatus();
}

}  // namespace encore::backends
