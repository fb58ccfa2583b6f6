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

extern "C" void CleanUpAndExit(int) {
  RemoveStagedFiles();
  Progress::EndAll();
  _exit(kExitOurFault);
}

extern "C" void SayThatAFileIsShorter(int signal, siginfo_t* info, void*) {
  RemoveStagedFiles();
  Progress::EndAll();
  if (info->si_code == BUS_ADRERR) {
    constexpr char kMessage[] =
        "encore: a file became shorter while it was read\n";
    (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
    _exit(kExitUnusableInput);
  }
  (void)raise(signal);
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
  action.sa_handler = CleanUpAndExit;
  (void)sigaction(SIGABRT, &action, nullptr);
  action.sa_sigaction = SayThatAFileIsShorter;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_SIGINFO;
  (void)sigaction(SIGBUS, &action, nullptr);
}

}  // namespace encore::tools
