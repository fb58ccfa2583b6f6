#include "encore/tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/thread.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

constexpr std::chrono::milliseconds kQuiet{333}, kInterval{100};
constexpr int kBarWidth = 24;
constexpr std::string_view kWipe = "\r\x1b[K";

// Whether a bar may stand on the terminal, and whether there is to be none.
std::atomic<bool> standing = false, ended = false;

int TerminalWidth() {
  winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
             ? size.ws_col
             : 80;
}

void WipeLine() {
  std::fputs(kWipe.data(), stderr);
  std::fflush(stderr);
  standing = false;
}

}  // namespace

std::string ProgressText(std::string_view label, int64_t done, int64_t total,
                         double seconds, int width) {
  std::string text = PrintableName(label);
  if (total > 0) {
    done = std::clamp<int64_t>(done, 0, total);
    const double fraction =
        static_cast<double>(done) / static_cast<double>(total);
    const int filled = static_cast<int>(fraction * kBarWidth);
    StrAppend(&text, " [", std::string(filled, '='),
              std::string(kBarWidth - filled, ' '), "] ", done, "/", total);
  } else if (done > 0) {
    StrAppend(&text, " ", done);
  }
  StrAppend(&text, " ", static_cast<int64_t>(seconds), " s");
  if (static_cast<int>(text.size()) > width) {
    size_t end = static_cast<size_t>(std::max(width, 0));
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
    text.resize(end);
  }
  return text;
}

Progress::Progress(std::string_view label, int64_t total)
    : total_(total), begin_(std::chrono::steady_clock::now()), label_(label) {
  if (isatty(STDERR_FILENO) != 1) return;
  painter_ = std::thread(InThread([this] {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kQuiet, [this] { return ending_; });
    while (!ending_) {
      if (!hidden_) Draw();
      changed_.wait_for(lock, kInterval, [this] { return ending_; });
    }
    if (drawn_) WipeLine();
  }));
}

Progress::~Progress() {
  if (!painter_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  painter_.join();
}

void Progress::SetLabel(std::string_view label) {
  const std::lock_guard lock(mutex_);
  label_ = label;
}

void Progress::Hide() {
  const std::lock_guard lock(mutex_);
  hidden_ = true;
  if (drawn_) WipeLine();
  drawn_ = false;
}

void Progress::Show() {
  const std::lock_guard lock(mutex_);
  hidden_ = false;
}

void Progress::EndAll() {
  ended = true;
  if (standing) (void)!write(STDERR_FILENO, kWipe.data(), kWipe.size());
}

void Progress::Draw() {
  standing = true;
  if (ended) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_)
          .count();
  // One column short of the edge, where some terminals wrap.
  const std::string text =
      ProgressText(label_, done_.load(std::memory_order_relaxed), total_,
                   seconds, TerminalWidth() - 1);
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace encore::tools
