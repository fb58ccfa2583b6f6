#include "encore/ir/support/thread.h"

#include <atomic>

namespace encore {
namespace {

std::atomic<ThreadMain> program_main = nullptr;

}  // namespace

void SetThreadMain(ThreadMain thread_main) { program_main = thread_main; }

void RunThread(void (*body)(void* context), void* context) {
  const ThreadMain thread_main = program_main;
  if (thread_main != nullptr) {
    thread_main(body, context);
  } else {
    body(context);
  }
}

}  // namespace encore
