#include "encore/ir/support/testing/child_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

// The signal comes for a parent that dies from now on; one that was gone before
// shows in the parent's number, which is then another's. A parent outside of
// this process's namespace of numbers has none (0), dead or alive.
void EndWithParent(pid_t parent) {
  ENCORE_CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  const pid_t now = getppid();
  if (now != parent && now != 0) raise(SIGKILL);
}

}  // namespace

pid_t StartChild(const std::function<int()>& body) {
  // What is still to be printed would be printed by both.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  ENCORE_CHECK(child >= 0);
  if (child != 0) return child;
  EndWithParent(parent);
  const int code = body();
  std::fflush(nullptr);
  _exit(code);
}

int WaitForChild(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  ENCORE_CHECK(ended == child);
  return status;
}

}  // namespace encore
