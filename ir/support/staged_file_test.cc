#include "encore/ir/support/staged_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "encore/ir/support/system_calls.h"
#include "encore/ir/support/testing/child_process.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class StagedFileTest : public testing::Test {
 protected:
  StagedFileTest() {
    std::string name = testing::TempDir() + "/staged.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~StagedFileTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  size_t FileCount() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

TEST_F(StagedFileTest, AppearsWhole) {
  ASSERT_TRUE(WriteWholeFile(Path("a"), "old").ok());
  StatusOr<StagedFile> file = StagedFile::Create(Path("a"));
  ASSERT_TRUE(file.ok());
  std::ofstream(file->staging()) << "new";
  EXPECT_EQ(ReadAll(Path("a")), "old");
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadAll(Path("a")), "new");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(StagedFileTest, OrNotAtAll) {
  ASSERT_TRUE(WriteWholeFile(Path("a"), "old").ok());
  {
    StatusOr<StagedFile> one = StagedFile::Create(Path("a"));
    StatusOr<StagedFile> two = StagedFile::Create(Path("a"));
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_NE(one->staging(), two->staging());
  }
  EXPECT_EQ(ReadAll(Path("a")), "old");
  EXPECT_EQ(FileCount(), 1u);
}

// In containers process ids repeat: what a killed process left must not be in
// the way of another of the same id, whatever it is called.
TEST_F(StagedFileTest, WhatAKilledWriterLeftIsInNobodysWay) {
  const auto start = [&](const char* name) {
    const pid_t child = StartChild([&] {
      for (int i = 0; i < 3; ++i) {
        StatusOr<StagedFile> file = StagedFile::Create(Path(name));
        if (!file.ok()) return 1;
        new StagedFile(*std::move(file));  // lost with the process
      }
      return raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(WaitForChild(child)));
  };
  start("a");
  start("b");
  EXPECT_EQ(FileCount(), 6u);
  // Those of the same target go with the next writer.
  StatusOr<StagedFile> living = StagedFile::Create(Path("a"));
  ASSERT_TRUE(living.ok());
  EXPECT_EQ(FileCount(), 4u);
  ASSERT_TRUE(living->Write(std::as_bytes(std::span("new", 3))).ok());
  EXPECT_EQ(RemoveDeadStagedFiles(folder_), 3);
  EXPECT_TRUE(living->Commit().ok());
  EXPECT_EQ(ReadAll(Path("a")), "new");
  EXPECT_EQ(FileCount(), 1u);
  EXPECT_EQ(RemoveDeadStagedFiles(Path("none")), 0);
}

// Between the making of a staging file and its writer's lock on it, somebody
// who looks for dead ones locks it, sees that it is there, and removes it only
// when its writer has seen that too.
class RemoverInBetween final : public SystemCalls {
 public:
  explicit RemoverInBetween(std::string folder) : folder_(std::move(folder)) {}

  int FLock(int fd, int operation) override {
    if (!started_.exchange(true)) {
      remover_ = std::thread([this] {
        removes_ = true;
        RemoveDeadStagedFiles(folder_);
      });
      has_locked_.wait(false);
    }
    return SystemCalls::FLock(fd, operation);
  }
  int Unlink(const char* path) override {
    if (removes_) {
      has_locked_ = true;
      has_locked_.notify_one();
      may_remove_.wait(false);
    }
    return SystemCalls::Unlink(path);
  }
  void LetRemove() {
    may_remove_ = true;
    may_remove_.notify_one();
    remover_.join();
  }

 private:
  const std::string folder_;
  static thread_local bool removes_;
  std::atomic<bool> started_ = false, has_locked_ = false, may_remove_ = false;
  std::thread remover_;
};

thread_local bool RemoverInBetween::removes_ = false;

TEST_F(StagedFileTest, WhoseLockIsTakenStartsOver) {
  RemoverInBetween system(folder_);
  const ScopedSystemCalls scope(&system);
  StatusOr<StagedFile> file = StagedFile::Create(Path("a"));
  system.LetRemove();
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write(std::as_bytes(std::span("new", 3))).ok());
  const Status committed = file->Commit();
  EXPECT_TRUE(committed.ok()) << committed;
  EXPECT_EQ(ReadAll(Path("a")), "new");
  EXPECT_EQ(FileCount(), 1u);
}

// Says that every lock is somebody else's.
class TakenLocks final : public SystemCalls {
 public:
  int FLock(int, int) override {
    errno = EWOULDBLOCK;
    return -1;
  }
};

TEST_F(StagedFileTest, WritesAlsoWhereNoLockIsToBeHad) {
  TakenLocks system;
  const ScopedSystemCalls scope(&system);
  const Status written = WriteWholeFile(Path("a"), "new");
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(StagedFileTest, SeveralProcessesWriteOneFile) {
  const auto write = [&] {
    for (int i = 0; i < 200; ++i) {
      const Status written = WriteWholeFile(Path("a"), "whole");
      if (!written.ok()) {
        ADD_FAILURE() << written;
        return 1;
      }
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(StartChild(write));
  for (const pid_t child : children) EXPECT_EQ(WaitForChild(child), 0);
  EXPECT_EQ(ReadAll(Path("a")), "whole");
  EXPECT_EQ(FileCount(), 1u);
}

// Names of others that are like those of staging files.
TEST_F(StagedFileTest, FilesOfOthersStay) {
  for (const char* name :
       {".a.notes.tmp", ".a.tmp", ".a.0123456789abcdeg.tmp",
        ".a.b.0123456789abcdef.tmp", ".b.0123456789abcdef.tmp"}) {
    std::ofstream(Path(name)) << "mine";
  }
  std::ofstream(Path(".a.0123456789abcdef.tmp")) << "left by a writer of a";
  ASSERT_TRUE(WriteWholeFile(Path("a"), "new").ok());
  EXPECT_EQ(FileCount(), 6u);
  EXPECT_FALSE(fs::exists(Path(".a.0123456789abcdef.tmp")));
}

TEST_F(StagedFileTest, StagesInAnotherFolder) {
  fs::create_directory(Path("staging"));
  StatusOr<StagedFile> file =
      StagedFile::Create(Path("a"), {.folder = Path("staging")});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(fs::path(file->staging()).parent_path(), Path("staging"));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::exists(Path("a")));
  EXPECT_TRUE(fs::is_empty(Path("staging")));
}

TEST_F(StagedFileTest, StagedFilesGoWithASignal) {
  std::vector<StagedFile> files;
  for (int i = 0; i < 70; ++i) {
    StatusOr<StagedFile> file = StagedFile::Create(Path("a"));
    ASSERT_TRUE(file.ok());
    files.push_back(*std::move(file));
  }
  ASSERT_TRUE(files[0].Commit().ok());
  files.pop_back();
  EXPECT_EQ(FileCount(), 69u);
  RemoveStagedFiles();
  EXPECT_TRUE(fs::exists(Path("a")));
  // Those beyond the first 64, less the one that went before.
  EXPECT_EQ(FileCount(), 6u);
  files.clear();
  EXPECT_EQ(FileCount(), 1u);
  // Places are free again.
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(WriteWholeFile(Path("b"), "x").ok());
  }
  StatusOr<StagedFile> last = StagedFile::Create(Path("c"));
  ASSERT_TRUE(last.ok());
  RemoveStagedFiles();
  EXPECT_EQ(FileCount(), 2u);
}

// What devices and pipes stand for: a rename would replace them by files.
TEST_F(StagedFileTest, WritesIntoWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  // Read and write, so that opening does not wait for the other side.
  const int pipe = open(Path("pipe").c_str(), O_RDWR);
  ASSERT_GE(pipe, 0);
  EXPECT_TRUE(WriteWholeFile(Path("pipe"), "abc").ok());
  char bytes[4] = {};
  EXPECT_EQ(read(pipe, bytes, 3), 3);
  EXPECT_STREQ(bytes, "abc");
  close(pipe);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(StagedFileTest, FollowsLinks) {
  ASSERT_TRUE(WriteWholeFile(Path("a"), "old").ok());
  fs::create_symlink("a", Path("link"));
  fs::create_symlink("link", Path("link2"));
  fs::create_symlink("b", Path("dangling"));
  ASSERT_TRUE(WriteWholeFile(Path("link2"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link2")) && fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadAll(Path("a")), "new");
  ASSERT_TRUE(WriteWholeFile(Path("dangling"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  EXPECT_EQ(ReadAll(Path("b")), "new");
  fs::create_symlink("loop", Path("loop"));
  EXPECT_FALSE(WriteWholeFile(Path("loop"), "new").ok());
}

TEST_F(StagedFileTest, ErrorsNameThePathThatWasGiven) {
  for (const std::string& path : {Path("none/a"), folder_}) {
    const Status status = WriteWholeFile(path, "x");
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(Message(status).starts_with(path + ": ")) << Message(status);
  }
  EXPECT_EQ(WriteWholeFile(folder_, "x").code(), StatusCode::kInvalidArgument);
}

TEST_F(StagedFileTest, AFullDiskIsNoSuccess) {
  // A limit on the size of files stands for it.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteWholeFile(Path("a"), "longer than that");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(StagedFileTest, TheModeIsAsAsked) {
  const mode_t before = umask(022);
  EXPECT_TRUE(WriteWholeFile(Path("open"), "x").ok());
  StatusOr<StagedFile> closed =
      StagedFile::Create(Path("closed"), {.mode = 0600});
  ASSERT_TRUE(closed.ok() && closed->Commit().ok());
  umask(before);
  EXPECT_EQ(fs::status(Path("open")).permissions(), fs::perms(0644));
  EXPECT_EQ(fs::status(Path("closed")).permissions(), fs::perms(0600));
}

}  // namespace
}  // namespace encore
