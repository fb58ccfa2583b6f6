#include "encore/backends/cuda/fake/work.h"

#include <utility>

namespace encore::backends::cuda::fake {

TaskPtr Work::Add(std::vector<TaskPtr> after, std::function<void()> run) {
  std::erase_if(
      after, [](const TaskPtr& task) { return task == nullptr || task->done; });
  auto task = std::make_shared<Task>();
  task->after = std::move(after);
  task->run = std::move(run);
  pending_.push_back(task);
  return task;
}

bool Work::IsReady(Task& task) {
  std::erase_if(task.after, [](const TaskPtr& other) { return other->done; });
  return task.after.empty();
}

void Work::RunAt(size_t index) {
  const TaskPtr task = pending_[index];
  pending_.erase(pending_.begin() + static_cast<int64_t>(index));
  if (task->run) task->run();
  task->run = nullptr;
  task->done = true;
}

void Work::Wait(const TaskPtr& task) {
  while (task != nullptr && !task->done) {
    std::vector<size_t> ready;
    const bool any = random_() % 3 == 0;
    const Task* needed = task.get();
    while (!any && !IsReady(*const_cast<Task*>(needed))) {
      needed = needed->after[random_() % needed->after.size()].get();
    }
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (any ? IsReady(*pending_[i]) : pending_[i].get() == needed) {
        ready.push_back(i);
      }
    }
    RunAt(ready[random_() % ready.size()]);
  }
}

}  // namespace encore::backends::cuda::fake
