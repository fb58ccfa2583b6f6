#include "encore/tools/signals.h"

#include <unistd.h>

#include <csignal>

#include "encore/ir/support/staged_file.h"
#include "encore/tools/command.h"
#include "encore/tools/progress.h"

namespace encore::tools {
namespace {

extern "C" void CleanUpAndEnd(int signal) {
  RemoveStagedFiles();
  Progress::EndAll();
  // SA_RESETHAND: this time it ends the process.
  (void)raise(signal);
}

// A fault may be that the stack has no room left.
constexpr size_t kFaultStackBytes = 64 << 10;
alignas(16) char fault_stack[kFaultStackBytes];

template <size_t size>
void Say(const char (&message)[size]) {
  (void)!write(STDERR_FILENO, message, size - 1);
}

extern "C" void ExitOnFault(int signal, siginfo_t* info, void*) {
  RemoveStagedFiles();
  Progress::EndAll();
  if (signal == SIGBUS && info->si_code == BUS_ADRERR) {
    Say("encore: a file became shorter while it was read\n");
    _exit(kExitUnusableInput);
  }
  // Whatever ended in abort has said why.
  if (signal != SIGABRT) {
    Say("encore: a fault of ours (a signal of the processor); please report "
        "it with the model and the command line\n");
  }
  _exit(kExitOurFault);
}

// Unless somebody else, a sanitizer, has taken the signal.
void ExitUnlessTaken(int signal, const struct sigaction& action) {
  struct sigaction before;
  if (sigaction(signal, nullptr, &before) == 0 &&
      before.sa_handler == SIG_DFL) {
    (void)sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void CleanUpOnSignals() {
  struct sigaction action = {};
  action.sa_handler = CleanUpAndEnd;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before;
    if (sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN) {
      (void)sigaction(signal, &action, nullptr);
    }
  }
  const stack_t stack = {
      .ss_sp = fault_stack, .ss_flags = 0, .ss_size = sizeof(fault_stack)};
  (void)sigaltstack(&stack, nullptr);
  action.sa_sigaction = ExitOnFault;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGBUS}) {
    (void)sigaction(signal, &action, nullptr);
  }
  for (const int signal : {SIGSEGV, SIGILL, SIGFPE}) {
    ExitUnlessTaken(signal, action);
  }
}

}  // namespace encore::tools
