// DiskStore: containers in a folder of the user's own, by kind and key.
//
//   FOLDER/v1/KIND/ab/abcdef….encore     entries
//   FOLDER/v1/locks, FOLDER/v1/bad       lock files, quarantined entries
//
// Entries are written to a staging file, synced and renamed, so that several
// processes may share a folder: each sees whole entries only. The folder is
// bounded; what was least recently used goes first. An entry that cannot be
// read is put into quarantine and counts as not there.
//
// A store never breaks a compile: whatever fails is logged, once per reason,
// and the call behaves as if there were no store. Thread-safe.
#ifndef ENCORE_CACHE_DISK_STORE_H_
#define ENCORE_CACHE_DISK_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/container.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

using Log = std::function<void(std::string_view line)>;
// Writes "encore: LINE" to standard error.
void LogToStderr(std::string_view line);

class DiskStore {
 public:
  struct Options {
    std::string folder;
    uint64_t max_bytes = uint64_t{8} << 30;
    Log log = LogToStderr;
  };

  // Makes the folder, mode 0700, where it is not there. PermissionDenied where
  // it cannot, or where the folder belongs to another user or lets others
  // write or read: code is run from it.
  static StatusOr<std::shared_ptr<DiskStore>> Open(Options options);

  // The entry, or null. Its head has been verified, its sections have not.
  std::shared_ptr<const Container> Get(std::string_view kind,
                                       const Digest& key);
  bool Contains(std::string_view kind, const Digest& key) const;
  // Keeps the container; false where it could not.
  bool Put(std::string_view kind, const Digest& key,
           const ContainerWriter& writer);
  // Takes an entry that turned out bad out of the way, and says so.
  void Quarantine(std::string_view kind, const Digest& key,
                  std::string_view reason);

  // Held as long as the object lives: no other thread or process works on the
  // key. Null where locks do not work here; the work is then done twice at
  // worst.
  class Lock;
  std::unique_ptr<Lock> LockKey(const Digest& key);

  struct Entry {
    std::string kind;
    Digest key;
    std::string path;
    uint64_t bytes = 0;
    int64_t used_ns = 0;  // last use, since the epoch
  };
  // Every entry, by kind and key.
  std::vector<Entry> List() const;
  // Removes what was least recently used until at most `max_bytes` are left,
  // and what writers that died left behind; returns how many entries went.
  // Entries in use stay readable.
  int Collect(uint64_t max_bytes);

  struct Cleared {
    std::vector<Entry> entries;
    int bad = 0;       // quarantined files
    std::string kept;  // the first that could not go, and why
  };
  // Removes everything; says what.
  Cleared Clear();
  // Quarantined files, by name.
  std::vector<std::string> Bad() const;

  const Options& options() const { return options_; }

 private:
  explicit DiskStore(Options options);
  std::string PathOf(std::string_view kind, const Digest& key) const;
  void LogOnce(std::string_view reason, std::string_view line);
  void Grow(uint64_t bytes);
  void RemoveLeftovers() const;

  const Options options_;
  const std::string root_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> logged_;
  // Bytes in the folder as far as this process knows; -1: not counted yet.
  int64_t known_bytes_ = -1;
};

class DiskStore::Lock {
 public:
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  friend class DiskStore;
  Lock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  const int fd_;
  const std::string path_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_DISK_STORE_H_
