#include "encore/backends/cuda/runtime/recording.h"

#include <algorithm>
#include <span>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {

StatusOr<std::unique_ptr<runtime::Recording>> CudaRecording::End(
    CudaQueue& queue, std::unique_ptr<runtime::Recording> replaced) {
  std::unique_ptr<CudaRecording> made(new CudaRecording(queue.context()));
  Status status;
  const std::shared_ptr<Recorder> recorder =
      queue.EndRecording(&made->graph_, &status);
  ENCORE_CHECK(recorder != nullptr) << "nothing is recorded";
  ENCORE_RETURN_IF_ERROR(status);
  made->operations_ = std::move(recorder->operations);
  made->nodes_ = std::move(recorder->nodes);
  made->decides_ = recorder->decides;
  for (const Recorder::Operation& operation : made->operations_) {
    if (!operation.records->empty() &&
        std::ranges::find(made->records_, operation.records) ==
            made->records_.end()) {
      made->records_.push_back(operation.records);
    }
  }
  ENCORE_RETURN_IF_ERROR(
      made->Instantiate(static_cast<CudaRecording*>(replaced.get())));
  made->changes_ =
      std::make_unique<CudaQueue>(made->context_, made->executable_);
  return made;
}

Status CudaRecording::Instantiate(CudaRecording* replaced) {
  const Context::Scope scope(*context_);
  const DriverTable& api = context_->api();
  // Conditions are of the graph that they were made in.
  if (replaced != nullptr && replaced->executable_ != nullptr && !decides_ &&
      !replaced->decides_ && replaced->nodes_.size() == nodes_.size()) {
    GraphUpdateResult update;
    const Result result =
        api.cuGraphExecUpdate(replaced->executable_, graph_, &update);
    if (result == Result::kSuccess) {
      std::swap(executable_, replaced->executable_);
      std::swap(graph_, replaced->graph_);
      nodes_ = replaced->nodes_;
      return OkStatus();
    }
    if (result != Result::kGraphExecUpdateFailure) {
      return context_->ToStatus(result, "cuGraphExecUpdate");
    }
  }
  const Result result =
      api.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
  const Status status =
      context_->ToStatus(result, "cuGraphInstantiateWithFlags");
  // Without conditional nodes it can be.
  return decides_ && result == Result::kNotSupported
             ? UnimplementedError(Message(status))
             : status;
}

CudaRecording::~CudaRecording() {
  const Context::Scope scope(*context_);
  if (executable_ != nullptr) {
    (void)context_->api().cuGraphExecDestroy(executable_);
  }
  if (graph_ != nullptr) (void)context_->api().cuGraphDestroy(graph_);
}

Status CudaRecording::Run(runtime::Queue& queue) {
  return static_cast<CudaQueue&>(queue).RunGraph(executable_, records_);
}

runtime::Queue& CudaRecording::Replace(uint32_t number) {
  ENCORE_CHECK_LT(number, operations_.size());
  const size_t first = operations_[number].first;
  const size_t end = number + 1 < operations_.size()
                         ? operations_[number + 1].first
                         : nodes_.size();
  changes_->StartReplacing(std::span(nodes_).subspan(first, end - first),
                           operations_[number].records);
  return *changes_;
}

}  // namespace encore::backends::cuda
