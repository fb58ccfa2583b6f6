// The driver's functions of graphs: recording, instantiation, launch, changes.
#include <algorithm>
#include <utility>

#include "encore/backends/cuda/fake/state.h"

namespace encore::backends::cuda::fake {
namespace {

constexpr uint32_t kTopologyChanged = 2;
constexpr uint32_t kNodeTypeChanged = 3;

}  // namespace

Result FakeState::cuStreamBeginCapture(CUstream stream, CaptureMode mode) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (stream->capture != nullptr) return Result::kCaptureUnsupported;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->id = ++captures_;
  stream->capture->graph->context = stream->context;
  stream->dependencies.clear();
  return Result::kSuccess;
}

Result FakeState::cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = nullptr;
  if (!IsLive(streams_, stream)) return Result::kInvalidHandle;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return Result::kInvalidValue;
  if (capture->origin != stream) return Result::kCaptureUnmatched;
  // Whatever comes of it, nothing is recorded any more.
  bool joined = true;
  std::vector<bool> reached(capture->graph->nodes.size());
  std::vector<CUgraphNode> open = stream->dependencies;
  while (!open.empty()) {
    const CUgraphNode node = open.back();
    open.pop_back();
    if (reached[node->number]) continue;
    reached[node->number] = true;
    for (const size_t before : node->after) {
      open.push_back(capture->graph->nodes[before].get());
    }
  }
  for (const auto& [handle, other] : streams_) {
    if (other->capture != capture) continue;
    for (const CUgraphNode node : other->dependencies) {
      joined &= reached[node->number];
    }
    other->capture = nullptr;
    other->dependencies.clear();
  }
  for (const auto& [handle, event] : events_) {
    if (event->capture == capture) event->nodes.clear();
  }
  std::shared_ptr<CUgraph_st> made = std::move(capture->graph);
  if (capture->invalid) return Result::kCaptureInvalidated;
  if (!joined) return Result::kCaptureUnjoined;
  if (stream->context->lost != Result::kSuccess) return stream->context->lost;
  *graph = made.get();
  if (!capture->is_body) graphs_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuStreamGetCaptureInfo(CUstream stream, CaptureStatus* status,
                                         cuuint64_t* id, CUgraph* graph,
                                         const CUgraphNode** dependencies,
                                         const CUgraphEdgeData_st** edges,
                                         size_t* count) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  const bool active = stream->capture != nullptr;
  *status = !active                    ? CaptureStatus::kNone
            : stream->capture->invalid ? CaptureStatus::kInvalidated
                                       : CaptureStatus::kActive;
  if (!active) return Result::kSuccess;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph.get();
  if (dependencies != nullptr) *dependencies = stream->dependencies.data();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->dependencies.size();
  return Result::kSuccess;
}

Result FakeState::cuGraphDestroy(CUgraph graph) {
  return graphs_.erase(graph) == 1 ? Result::kSuccess : Result::kInvalidHandle;
}

Result FakeState::cuGraphInstantiateWithFlags(CUgraphExec* executable,
                                              CUgraph graph,
                                              unsigned long long flags) {
  if (!graphs_.contains(graph)) return Result::kInvalidHandle;
  if (flags != 0) return Result::kNotSupported;
  if (graph->context->lost != Result::kSuccess) return graph->context->lost;
  auto made = std::make_unique<CUgraphExec_st>();
  made->context = graph->context;
  for (const auto& node : graph->nodes) {
    made->numbers.emplace(node.get(), made->nodes.size());
    made->nodes.push_back(*node);
  }
  *executable = made.get();
  executables_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuGraphExecDestroy(CUgraphExec executable) {
  return executables_.erase(executable) == 1 ? Result::kSuccess
                                             : Result::kInvalidHandle;
}

// Behind what is in the stream and behind the launch before; the nodes are
// tasks of their own, so that other streams' work comes in between.
Result FakeState::cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (!IsLive(executables_, executable)) return Result::kInvalidHandle;
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (stream->capture != nullptr) return Invalidate(stream);
  const TaskPtr begin = work_.Add({stream->last, executable->last}, nullptr);
  std::vector<TaskPtr> tasks;
  for (const CUgraphNode_st& node : executable->nodes) {
    std::vector<TaskPtr> after = {begin};
    for (const size_t before : node.after) after.push_back(tasks[before]);
    tasks.push_back(
        AddTask(std::move(after), executable->context, node.operation));
  }
  tasks.push_back(begin);
  executable->last = work_.Add(std::move(tasks), nullptr);
  stream->last = executable->last;
  return Result::kSuccess;
}

Result FakeState::cuGraphExecKernelNodeSetParams(
    CUgraphExec executable, CUgraphNode node, const KernelNodeParams* params) {
  if (!IsLive(executables_, executable)) return Result::kInvalidHandle;
  const auto found = executable->numbers.find(node);
  if (found == executable->numbers.end()) return Result::kInvalidValue;
  auto* const launch =
      std::get_if<LaunchWork>(&executable->nodes[found->second].operation);
  if (launch == nullptr) return Result::kInvalidValue;
  LaunchWork changed;
  const Result result = MakeLaunch(
      params->func, {params->gridDimX, params->gridDimY, params->gridDimZ},
      {params->blockDimX, params->blockDimY, params->blockDimZ},
      params->sharedMemBytes, params->kernelParams, params->extra, &changed);
  if (result == Result::kSuccess) *launch = std::move(changed);
  return result;
}

Result FakeState::cuGraphExecMemcpyNodeSetParams(CUgraphExec executable,
                                                 CUgraphNode node,
                                                 const MemcpyNodeParams* params,
                                                 CUcontext context) {
  if (!IsLive(executables_, executable)) return Result::kInvalidHandle;
  const auto found = executable->numbers.find(node);
  if (found == executable->numbers.end()) return Result::kInvalidValue;
  auto* const copy =
      std::get_if<CopyWork>(&executable->nodes[found->second].operation);
  // Only copies of one dimension, and of the kinds of memory that it was of.
  if (copy == nullptr || context != executable->context ||
      params->Height != 1 || params->Depth != 1 ||
      (params->dstMemoryType == MemoryType::kHost) != copy->dst_is_host ||
      (params->srcMemoryType == MemoryType::kHost) != copy->src_is_host) {
    return Result::kInvalidValue;
  }
  CopyWork changed = *copy;
  changed.dst = copy->dst_is_host ? reinterpret_cast<uint64_t>(params->dstHost)
                                  : params->dstDevice;
  changed.src = copy->src_is_host ? reinterpret_cast<uint64_t>(params->srcHost)
                                  : params->srcDevice;
  changed.bytes = params->WidthInBytes;
  const Result result = CheckCopy(changed);
  if (result == Result::kSuccess) *copy = changed;
  return result;
}

Result FakeState::cuGraphExecUpdate(CUgraphExec executable, CUgraph graph,
                                    GraphUpdateResult* result) {
  if (!IsLive(executables_, executable) || !graphs_.contains(graph)) {
    return Result::kInvalidHandle;
  }
  *result = {};
  std::vector<CUgraphNode_st>& nodes = executable->nodes;
  bool same_edges = nodes.size() == graph->nodes.size();
  bool same_types = true;
  for (size_t i = 0; same_edges && i < nodes.size(); ++i) {
    same_edges = nodes[i].after == graph->nodes[i]->after;
    same_types &=
        nodes[i].operation.index() == graph->nodes[i]->operation.index() &&
        !std::holds_alternative<ConditionalWork>(nodes[i].operation);
  }
  if (!same_edges || !same_types) {
    result->result = same_edges ? kNodeTypeChanged : kTopologyChanged;
    return Result::kGraphExecUpdateFailure;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].operation = graph->nodes[i]->operation;
  }
  return Result::kSuccess;
}

}  // namespace encore::backends::cuda::fake
