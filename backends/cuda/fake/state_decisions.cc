// The driver's functions of graphs that decide.
#include <cstring>
#include <memory>
#include <utility>

#include "encore/backends/cuda/fake/state.h"

namespace encore::backends::cuda::fake {
namespace {

// More trips of a loop are one without end.
constexpr int kMostTrips = 1 << 20;

}  // namespace

CUgraph_st* FakeState::Recorded(CUgraph graph) const {
  for (const auto& [handle, stream] : streams_) {
    if (stream->capture != nullptr && stream->capture->graph.get() == graph) {
      return graph;
    }
  }
  return nullptr;
}

Result FakeState::cuGraphConditionalHandleCreate(cuuint64_t* handle,
                                                 CUgraph graph,
                                                 CUcontext context,
                                                 unsigned int initial,
                                                 unsigned int flags) {
  if (Recorded(graph) == nullptr) return Result::kInvalidHandle;
  // Without flags it has no value until a kernel gives it one.
  if (context != graph->context || flags != 0) return Result::kInvalidValue;
  const auto address = memory_.Allocate(sizeof(uint32_t), context->device);
  if (!address) return Result::kOutOfMemory;
  graph->conditions[*address] = std::shared_ptr<const Condition>(
      new Condition{*address}, [this](const Condition* condition) {
        memory_.Free(condition->address, false);
        delete condition;
      });
  *handle = *address;
  return Result::kSuccess;
}

Result FakeState::cuGraphAddNode(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies,
                                 const CUgraphEdgeData_st* edges, size_t count,
                                 GraphNodeParams* params) {
  if (Recorded(graph) == nullptr) return Result::kInvalidHandle;
  ConditionalNodeParams& given = params->conditional;
  const auto condition = graph->conditions.find(given.handle);
  const bool loops = given.type == ConditionalType::kWhile;
  if (params->type != NodeType::kConditional || edges != nullptr ||
      condition == graph->conditions.end() || given.ctx != graph->context ||
      given.size < 1 || given.size > (loops ? 1 : 2)) {
    return Result::kInvalidValue;
  }
  auto made = std::make_unique<CUgraphNode_st>();
  made->number = graph->nodes.size();
  for (size_t i = 0; i < count; ++i) {
    made->after.push_back(dependencies[i]->number);
  }
  ConditionalWork work{condition->second, loops, {}};
  for (unsigned int i = 0; i < given.size; ++i) {
    auto body = std::make_shared<CUgraph_st>();
    body->context = graph->context;
    bodies_[body.get()] = body;
    made->bodies.push_back(body.get());
    work.bodies.push_back(std::move(body));
  }
  // A condition is of one node.
  graph->conditions.erase(condition);
  made->operation = std::move(work);
  given.phGraph_out = made->bodies.data();
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuStreamUpdateCaptureDependencies(
    CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData_st* edges,
    size_t count, unsigned int flags) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (stream->capture == nullptr || edges != nullptr ||
      flags != kSetCaptureDependencies) {
    return Result::kInvalidValue;
  }
  stream->dependencies.assign(dependencies, dependencies + count);
  return Result::kSuccess;
}

Result FakeState::cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                              const CUgraphNode* dependencies,
                                              const CUgraphEdgeData_st* edges,
                                              size_t count, CaptureMode mode) {
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  const auto found = bodies_.find(graph);
  if (found == bodies_.end() || found->second.expired() || count != 0) {
    return Result::kInvalidHandle;
  }
  if (stream->capture != nullptr || Recorded(graph) != nullptr) {
    return Result::kCaptureUnsupported;
  }
  stream->capture = std::make_shared<Capture>();
  stream->capture->graph = found->second.lock();
  stream->capture->is_body = true;
  stream->capture->origin = stream;
  stream->capture->id = ++captures_;
  stream->dependencies.clear();
  return Result::kSuccess;
}

void FakeState::RunConditional(CUcontext context, const ConditionalWork& work) {
  for (int trip = 0; trip < kMostTrips; ++trip) {
    uint32_t value = 0;
    std::memcpy(&value,
                memory_.Find(work.condition->address, sizeof(value), nullptr),
                sizeof(value));
    const size_t body = value != 0 ? 0 : 1;
    if (body >= work.bodies.size()) return;
    for (const auto& node : work.bodies[body]->nodes) {
      Perform(context, node->operation, nullptr);
    }
    if (!work.loops || context->lost != Result::kSuccess) return;
  }
  fault_ = "a conditional node loops without end";
  context->lost = Result::kLaunchTimeout;
}

}  // namespace encore::backends::cuda::fake
