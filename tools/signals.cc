#include "encore/tools/signals.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/thread.h"
#include "encore/tools/command.h"
#include "encore/tools/progress.h"

namespace encore::tools {
namespace {

// Those that say that the process shall end, and do end one that has no handler
// for them.
constexpr int kEndings[] = {
    SIGHUP,  SIGINT,    SIGQUIT, SIGTRAP,   SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM,
    SIGTERM, SIGSTKFLT, SIGXCPU, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,  SIGSYS};

// The thread that ends the process.
std::atomic<pid_t> ending = 0;

// For what runs in handlers of faults: before a call that does not return,
// AddressSanitizer allocates otherwise, and waits for ever where the fault came
// in the midst of an allocation.
#define ENCORE_WITHOUT_ASAN __attribute__((no_sanitize("address")))

// Returns in one thread only, once. Others wait for the end; the same thread
// comes here again by a fault in its handler, and goes at once.
ENCORE_WITHOUT_ASAN void BeginToEnd() {
  pid_t before = 0;
  if (ending.compare_exchange_strong(before, gettid())) return;
  if (before == gettid()) _exit(kExitOurFault);
  for (;;) pause();
}

extern "C" ENCORE_WITHOUT_ASAN void CleanUpAndEnd(int signal) {
  BeginToEnd();
  RemoveStagedFiles();
  Progress::EndAll();
  // It is blocked until this returns, and then ends the process.
  (void)std::signal(signal, SIG_DFL);
  (void)raise(signal);
}

void Say(std::string_view text) {
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

void SayNumber(int64_t number) {
  std::array<char, 20> digits;
  size_t begin = digits.size();
  do {
    digits[--begin] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0 && begin > 0);
  Say({digits.data() + begin, digits.size() - begin});
}

extern "C" ENCORE_WITHOUT_ASAN void ExitOnFault(int signal, siginfo_t* info,
                                                void*) {
  BeginToEnd();
  RemoveStagedFiles();
  Progress::EndAll();
  if (info->si_code <= 0 && info->si_pid != getpid()) {
    Say("encore: ended by signal ");
    SayNumber(signal);
    Say(" from process ");
    SayNumber(info->si_pid);
    Say("\n");
  } else if (signal == SIGBUS && info->si_code == BUS_ADRERR) {
    Say("encore: a file became shorter while it was read\n");
    _exit(kExitUnusableInput);
  } else {
    Say(signal == SIGABRT ? "encore: an internal error (abort)"
                          : "encore: an internal error (a signal of the "
                            "processor)");
    Say("; please report it with the model and the command line\n");
  }
  _exit(kExitOurFault);
}

// Unless somebody else, such as a sanitizer, has taken the signal, or it is
// ignored.
void HandleUnlessTaken(int signal, const struct sigaction& action) {
  struct sigaction before;
  if (sigaction(signal, nullptr, &before) == 0 &&
      before.sa_handler == SIG_DFL) {
    (void)sigaction(signal, &action, nullptr);
  }
}

// While in scope, its thread has a stack for handlers: a fault may be that its
// own has no room left.
class FaultStack {
 public:
  FaultStack() {
    const stack_t stack = {
        .ss_sp = bytes_, .ss_flags = 0, .ss_size = sizeof(bytes_)};
    (void)sigaltstack(&stack, &before_);
  }
  ~FaultStack() { (void)sigaltstack(&before_, nullptr); }
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  alignas(16) char bytes_[64 << 10];
  stack_t before_ = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
};

// A thread whose fault stack lies where its own begins.
void RunOverFaultStack(void (*body)(void* context), void* context) {
  const FaultStack stack;
  body(context);
}

}  // namespace

void CleanUpOnSignals() {
  struct sigaction action = {};
  action.sa_handler = CleanUpAndEnd;
  (void)sigfillset(&action.sa_mask);
  for (const int fault : {SIGABRT, SIGBUS, SIGSEGV, SIGILL, SIGFPE}) {
    (void)sigdelset(&action.sa_mask, fault);
  }
  for (const int signal : kEndings) HandleUnlessTaken(signal, action);
  // Writing then fails, and is reported.
  action.sa_handler = SIG_IGN;
  HandleUnlessTaken(SIGXFSZ, action);

  static const FaultStack stack;
  SetThreadMain(RunOverFaultStack);
  action.sa_sigaction = ExitOnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGABRT, SIGBUS}) {
    (void)sigaction(signal, &action, nullptr);
  }
  for (const int signal : {SIGSEGV, SIGILL, SIGFPE}) {
    HandleUnlessTaken(signal, action);
  }
}

}  // namespace encore::tools
