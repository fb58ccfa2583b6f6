// The locks of a store: of keys, and of the places of entries.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/file_lock.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// Who puts an entry has its place locked for a look at the one that is there,
// a sync and a rename.
constexpr std::chrono::milliseconds kMaxWaitForPlace{1000};
}  // namespace

std::unique_ptr<FileLock> DiskStore::LockKey(
    const Digest& key, std::chrono::milliseconds max_wait) {
  const std::string path = StrCat(root_, "/locks/", key.ToHex());
  // Time spent asleep, which no clock can lie about.
  std::chrono::milliseconds waited(0), pause(1);
  bool said = false;
  for (;;) {
    auto lock = FileLock::Try(path);
    if (!lock.ok()) {
      LogOnce("lock", StrCat("cannot lock ", Message(lock.status())));
      return nullptr;
    }
    if (*lock != nullptr) return *std::move(lock);
    const auto limit =
        std::chrono::duration_cast<std::chrono::seconds>(max_wait).count();
    if (waited >= max_wait) {
      LogOnce("waited", StrCat("another process has been compiling the same "
                               "graph for more than ",
                               limit, " s; not waiting any longer"));
      return nullptr;
    }
    if (waited >= kSilentWait && !std::exchange(said, true) && options_.log) {
      options_.log(
          StrCat("another process is compiling the same graph; "
                 "waiting for it, at most ",
                 limit, " s in all"));
    }
    std::this_thread::sleep_for(pause);
    waited += pause;
    pause = std::min(2 * pause, std::chrono::milliseconds(50));
  }
}

StatusOr<std::unique_ptr<FileLock>> DiskStore::LockPlace(std::string_view kind,
                                                         const Digest& key) {
  const std::string path = StrCat(root_, "/locks/", kind, "-", key.ToHex());
  constexpr std::chrono::milliseconds kPause(2);
  for (auto waited = 0 * kPause; waited < kMaxWaitForPlace; waited += kPause) {
    auto lock = FileLock::Try(path);
    if (!lock.ok()) {
      if (lock.status().code() == StatusCode::kNotFound) return lock.status();
      LogOnce("lock", StrCat("cannot lock ", Message(lock.status())));
      return nullptr;
    }
    if (*lock != nullptr) return lock;
    std::this_thread::sleep_for(kPause);
  }
  return MakeStatus(StatusCode::kUnavailable,
                    StrCat(path, ": others have had it locked for ",
                           kMaxWaitForPlace.count(), " ms"));
}

}  // namespace encore::cache
