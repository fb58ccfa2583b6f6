// PowerCut: a disk that keeps what was synced, and perhaps some of the rest.
//
//   PowerCut disk;
//   {
//     const ScopedSystemCalls scope(&disk);
//     disk.CutAt(k);
//     …  // from call k on, nothing that writes works any more
//   }
//   disk.Lose(seed);
//
// What POSIX promises, and no more: bytes of a file are kept once the file was
// synced, a name in a folder (made, renamed, removed) once the folder was. Of
// names not synced each may have reached the disk or not, whatever came after;
// of bytes not synced some are there and some are zeros. Thread-safe until
// Lose.
#ifndef ENCORE_IR_TESTING_POWER_CUT_H_
#define ENCORE_IR_TESTING_POWER_CUT_H_

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/testing/faulty_system.h"

namespace encore {

class PowerCut final : public WatchedSystem {
 public:
  // `folder`, which has to be empty and on the same file system as what is
  // written, takes copies of what is replaced.
  explicit PowerCut(std::string folder) : folder_(std::move(folder)) {}

  // From the call of that number on, counted from now, every call that writes
  // fails (EIO); the others read what the page cache has.
  void CutAt(uint64_t number);
  // Calls since then.
  uint64_t calls() const;

  // Leaves on the disk what the cut may have left, as `seed` draws.
  void Lose(uint64_t seed);

  int OpenAt(int folder, const char* path, int flags, mode_t mode) override;
  int Close(int fd) override;
  ssize_t Write(int fd, const void* data, size_t size) override;
  int FSync(int fd) override;
  int Rename(const char* from, const char* to) override;
  int Unlink(const char* path) override;
  int MkDir(const char* path, mode_t mode) override;

 private:
  // A name in a folder that was made, replaced or removed.
  struct Change {
    std::string folder;
    std::string name;                 // the whole path
    std::optional<std::string> was;   // a link to what it led to before
    std::optional<std::string> from;  // of a rename: the other name
  };

  int Before(SystemCall call) override;
  bool Cut();
  void Note(const std::string& path, std::optional<std::string> from);
  void Undo(const Change& change);

  const std::string folder_;
  mutable std::mutex mutex_;
  uint64_t calls_ = 0;
  std::optional<uint64_t> cut_;
  int copies_ = 0;
  std::vector<Change> changes_;  // not synced, in order
  std::map<int, std::string> open_;
  // Bytes that are safe, by the number of the file.
  std::map<ino_t, off_t> synced_;
  std::map<ino_t, std::string> kept_;  // links by which Lose finds them
};

}  // namespace encore

#endif  // ENCORE_IR_TESTING_POWER_CUT_H_
