// DiskStore: containers in a folder of the user's own, by kind and key.
//
//   FOLDER/v1/KIND/a/abcdef….encore      entries
//   FOLDER/v1/KIND/a/abcdef….used        when one was last used (its time) and
//                                        how often (its size)
//   FOLDER/v1/staging                    what is being written
//   FOLDER/v1/locks, FOLDER/v1/bad       lock files, quarantined entries
//
// Entries are written to a staging file and renamed, so that several
// processes may share a folder: each sees whole entries only. What a writer
// that was killed left goes when a store is opened, or, on a file system
// without locks, when a day later one is collected. The folder is bounded,
// quarantined entries and staging files included; what was least recently used
// goes first. Nothing changes an entry's times but writing it: a stamp that
// stands for its contents holds as long as they do.
//
// Code is run from entries. So a store is the user's alone, entries are reached
// through the folder that was examined when the store was opened (HeldFolder),
// and each is examined by its own descriptor. An entry whose bytes are wrong
// (DataLoss) is put into quarantine; one that merely cannot be read now is left
// as it is.
//
// A store never breaks a compile: whatever fails is logged, once per reason,
// and the call behaves as if there were no store. Thread-safe.
#ifndef ENCORE_CACHE_STORE_DISK_STORE_H_
#define ENCORE_CACHE_STORE_DISK_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/file_lock.h"
#include "encore/cache/store/held_folder.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
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

  // What a power cut soon after Put leaves: the entry; or, for a fraction of
  // the time, maybe none or a damaged one, which Get and the checksums of its
  // sections find. The latter is for what is soon made again; damage of it is
  // no surprise, and it goes without a word.
  enum class Durability : uint8_t { kSynced, kWritten };

  // The entry, which was put with that durability, or null. Its head has been
  // verified, its sections have not.
  std::shared_ptr<const Container> Get(
      std::string_view kind, const Digest& key,
      Durability durability = Durability::kSynced);
  // The same for who only looks: it counts as no use of the entry, and one that
  // is damaged stays for who reads it to find.
  std::shared_ptr<const Container> Peek(std::string_view kind,
                                        const Digest& key) const;
  bool Contains(std::string_view kind, const Digest& key) const;

  // Keeps the container, with a section that says where it belongs: a file that
  // was moved to another key's place is damage. False where it could not.
  bool Put(std::string_view kind, const Digest& key, ContainerWriter writer,
           Durability durability = Durability::kSynced);
  // As Put, unless `keeps` the entry that is there, where one is that can be
  // opened: it stays then. Between the look and the replacement nobody else, in
  // whatever process, replaces it by PutUnless, but where the file system has
  // no locks. False too where others had that place locked for a second.
  using Keeps = std::function<bool(const Container& there)>;
  bool PutUnless(std::string_view kind, const Digest& key,
                 ContainerWriter writer, const Keeps& keeps);
  // Takes an entry that turned out bad, as `why` says, out of the way, and says
  // so; one that was only written (Durability) goes. `read` is what was read of
  // it, by Get: what others have put in its place since stays. One that merely
  // cannot be read now (Unavailable, PermissionDenied, ResourceExhausted) is as
  // good as it was, and stays.
  void Quarantine(std::string_view kind, const Digest& key,
                  const Container& read, const Status& why,
                  Durability durability = Durability::kSynced);

  // Held as long as the object lives: no other thread or process works on the
  // key. Waits for one that does for at most `max_wait`, and says so after
  // kSilentWait. Null where the wait was in vain or locks do not work here; the
  // work is then done twice at worst.
  static constexpr std::chrono::seconds kSilentWait{2};
  std::unique_ptr<FileLock> LockKey(const Digest& key,
                                    std::chrono::milliseconds max_wait);

  struct Entry {
    std::string kind;
    Digest key;
    std::string path;
    uint64_t bytes = 0;
    int64_t used_ns = 0;  // last use, since the epoch
    // How often it was found, but for the first minute after it was written,
    // and at most once a minute.
    int64_t uses = 0;
  };
  // Every entry, by kind and key, of what can be looked at.
  std::vector<Entry> List() const;
  // Those of one kind.
  std::vector<Entry> ListKind(std::string_view kind) const;
  // Removes quarantined entries and then what was least recently used until at
  // most `max_bytes` are left, and what writers that died left behind; returns
  // how many entries went. Entries in use stay readable.
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

  // What a file that is made now has in the store: its device, and what the
  // clock of its file system says. Errors where none can be made.
  StatusOr<FileStamp> StampOfNewFile() const;

  const Options& options() const { return options_; }

 private:
  DiskStore(Options options, HeldFolder root);
  std::string PathOf(std::string_view kind, const Digest& key) const;
  // Also gives the stamp of a file that is no whole entry.
  StatusOr<std::shared_ptr<const Container>> OpenEntry(std::string_view kind,
                                                       const Digest& key,
                                                       FileStamp* stamp) const;
  // As Quarantine, of the file that had that stamp when it was read.
  void SetAside(std::string_view kind, const Digest& key, const FileStamp& read,
                const Status& why, Durability durability);
  // Says nothing where `check`, asked before an entry is in its place, gives
  // AlreadyExists.
  bool Write(std::string_view kind, const Digest& key, ContainerWriter writer,
             Durability durability, const std::function<Status()>& check);
  Status WriteEntry(std::string_view kind, const std::string& path,
                    const ContainerWriter& writer,
                    const WriteOptions& options) const;
  // The lock of an entry's place; null where locks do not work here.
  StatusOr<std::unique_ptr<FileLock>> LockPlace(std::string_view kind,
                                                const Digest& key);
  void CannotRead(const Status& why);
  void LogOnce(std::string_view reason, std::string_view line);
  void Grow(uint64_t bytes);
  uint64_t TotalBytes(const std::vector<Entry>& entries) const;
  static std::vector<Entry> EntriesOf(const FolderContents& contents);
  void RemoveLeftovers(const FolderContents& contents) const;

  const Options options_;
  const HeldFolder held_;   // FOLDER/v1
  const std::string root_;  // its path
  std::mutex mutex_;
  std::set<std::string, std::less<>> logged_;
  // Bytes in the folder as far as this process knows; -1: not counted yet.
  int64_t known_bytes_ = -1;
};

// Those that were used last, first.
void SortByUse(std::vector<DiskStore::Entry>* entries);

// Whether an entry stands where it was written to: DataLoss for one that was
// moved to another key's place, NotFound for one that does not say where it
// belongs.
Status CheckAddress(const Container& container, std::string_view kind,
                    const Digest& key);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_DISK_STORE_H_
