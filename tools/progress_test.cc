#include "encore/tools/progress.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace encore::tools {
namespace {

TEST(ProgressTextTest, ShowsWhatIsDone) {
  EXPECT_EQ(ProgressText("replaying", 5, 10, 3.9, 80),
            "replaying [============            ] 5/10 3 s");
  EXPECT_EQ(ProgressText("compiling", 0, 0, 2, 80), "compiling 2 s");
  EXPECT_EQ(ProgressText("reading", 7, 0, 0, 80), "reading 7 0 s");
}

TEST(ProgressTextTest, StaysWithinTheBarAndTheLine) {
  EXPECT_EQ(ProgressText("x", 99, 10, 0, 80),
            "x [========================] 10/10 0 s");
  EXPECT_EQ(ProgressText("replaying", 5, 10, 3, 12), "replaying [=");
  EXPECT_EQ(ProgressText("replaying", 5, 10, 3, -1), "");
}

// What a process that works for `work` writes to standard error, which is a
// terminal.
std::string OnTerminal(std::chrono::milliseconds work) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    {
      Progress progress("working", 4);
      progress.Advance();
      std::this_thread::sleep_for(work);
    }
    _exit(0);
  }
  std::string text;
  char buffer[256];
  ssize_t n;
  while ((n = read(terminal, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  waitpid(child, nullptr, 0);
  close(terminal);
  return text;
}

TEST(ProgressTest, IsDrawnAndWipedOnATerminal) {
  const std::string text = OnTerminal(std::chrono::milliseconds(600));
  EXPECT_NE(text.find("working [======                  ] 1/4"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(ProgressTest, IsQuietForShortWork) {
  EXPECT_EQ(OnTerminal(std::chrono::milliseconds(0)), "");
}

TEST(ProgressTest, IsQuietWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("working");
    std::this_thread::sleep_for(std::chrono::milliseconds(450));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace encore::tools
