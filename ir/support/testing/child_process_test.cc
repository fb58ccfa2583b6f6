#include "encore/ir/support/testing/child_process.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(ChildProcess, EndsWithTheCodeOfItsBody) {
  for (const int code : {0, 7}) {
    const int status = WaitForChild(StartChild([&] { return code; }));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
  }
  const int status = WaitForChild(StartChild([] { return raise(SIGTERM); }));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

// Whether all that can write to a pipe are gone, within 20 seconds.
bool IsClosed(int pipe) {
  struct pollfd wanted{pipe, 0, 0};
  return poll(&wanted, 1, 20'000) == 1 && (wanted.revents & POLLHUP) != 0;
}

// A child starts one of its own that waits for ever, says which on the pipe,
// and is killed: the pipe is closed when both are gone.
TEST(ChildProcess, DoesNotOutliveItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = StartChild([&] {
    const pid_t second = StartChild([]() -> int {
      while (true) pause();
    });
    if (write(ends[1], &second, sizeof second) != sizeof second) return 1;
    return raise(SIGKILL);
  });
  close(ends[1]);
  EXPECT_TRUE(WIFSIGNALED(WaitForChild(child)));
  pid_t second = 0;
  ASSERT_EQ(read(ends[0], &second, sizeof second), ssize_t{sizeof second});
  EXPECT_TRUE(IsClosed(ends[0]));
  if (!IsClosed(ends[0])) kill(second, SIGKILL);
  close(ends[0]);
}

}  // namespace
}  // namespace encore
