// Work: what has been enqueued and not been done, which is done as late as may
// be, in an order that a seed draws.
//
// A task runs after those that it names. Nothing runs until somebody waits for
// a task: then what that needs, and now and then, as the seed says, something
// else that is ready. Not thread-safe.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_WORK_H_
#define ENCORE_BACKENDS_CUDA_FAKE_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace encore::backends::cuda::fake {

struct Task {
  std::vector<std::shared_ptr<Task>> after;  // empty once it is done
  std::function<void()> run;                 // may be null
  bool done = false;
};
using TaskPtr = std::shared_ptr<Task>;

class Work {
 public:
  explicit Work(uint32_t seed) : random_(seed) {}

  // Null tasks in `after` are done ones.
  TaskPtr Add(std::vector<TaskPtr> after, std::function<void()> run);
  void Wait(const TaskPtr& task);
  // How many are not done.
  int64_t pending() const { return static_cast<int64_t>(pending_.size()); }

 private:
  static bool IsReady(Task& task);
  void RunAt(size_t index);

  std::mt19937 random_;
  // In the order in which they were added: each after those that it names.
  std::vector<TaskPtr> pending_;
};

}  // namespace encore::backends::cuda::fake

#endif  // ENCORE_BACKENDS_CUDA_FAKE_WORK_H_
