// Progress: a bar on standard error while something takes long.
//
//   Progress progress("replaying", repeat);
//   for (…) { …; progress.Advance(); }
//
// Nothing is shown, and no thread started, unless standard error is a terminal;
// nothing either before the work has taken a third of a second. The bar is
// drawn by a thread of its own, so that work which reports nothing in between
// (a compile) shows its elapsed time. It is wiped when the object goes; text
// that is printed meanwhile should be preceded by Hide.
//
// Advance and SetLabel may be called from any thread. Cost of Advance: one
// relaxed atomic addition.
#ifndef ENCORE_TOOLS_PROGRESS_H_
#define ENCORE_TOOLS_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace encore::tools {

class Progress {
 public:
  // `total`: units of work, 0 where that is not known.
  explicit Progress(std::string_view label, int64_t total = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Advance(int64_t units = 1) {
    done_.fetch_add(units, std::memory_order_relaxed);
  }
  void SetLabel(std::string_view label);
  // Wipes the bar and draws none until `Show`.
  void Hide();
  void Show();

  // Wipes the bar, if there is one, and draws none any more: for a signal that
  // ends the process. Async-signal-safe.
  static void EndAll();

 private:
  void Draw();

  const int64_t total_;
  const std::chrono::steady_clock::time_point begin_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string label_;
  bool hidden_ = false, drawn_ = false, ending_ = false;
  std::thread painter_;
};

// The bar as text of at most `width` bytes: label (PrintableName), bar or
// nothing where `total` is 0, what is done, and the seconds so far.
std::string ProgressText(std::string_view label, int64_t done, int64_t total,
                         double seconds, int width);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_PROGRESS_H_
