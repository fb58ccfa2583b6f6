#include "encore/cache/disk_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "encore/cache/file_stamp.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".encore";
// Of files that are being written (container_writer.cc); those that are old
// have lost their writer.
constexpr std::string_view kStagingSuffix = ".tmp";
constexpr auto kLeftoverAge = std::chrono::hours(1);
// Quarantined entries beyond these go.
constexpr size_t kMaxBad = 16;
// Uses closer together than this are not written down.
constexpr int64_t kUseGranularityNs = 60'000'000'000;

// Makes a folder for the user alone, and those above it.
Status MakeFolder(const std::string& path) {
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return OkStatus();
  return PermissionDeniedError(StrCat(path, ": ", std::strerror(errno)));
}

Status CheckOwner(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return PermissionDeniedError(StrCat(path, ": ", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return PermissionDeniedError(StrCat(path, " is no folder"));
  }
  if (info.st_uid != geteuid()) {
    return PermissionDeniedError(StrCat(path, " belongs to another user"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return PermissionDeniedError(
        StrCat(path, " is open to other users; chmod 700 makes it usable"));
  }
  return OkStatus();
}

void Touch(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return;
  const int64_t used = int64_t{info.st_atim.tv_sec} * 1'000'000'000;
  if (NowNs() - used < kUseGranularityNs) return;
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)utimensat(AT_FDCWD, path.c_str(), times, 0);
}

// Removes the oldest files of a folder beyond `keep`.
void KeepNewest(const std::string& folder, size_t keep) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    files.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (files.size() <= keep) return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + keep < files.size(); ++i) {
    fs::remove(files[i].second, error);
  }
}

}  // namespace

void LogToStderr(std::string_view line) {
  std::fprintf(stderr, "encore: %.*s\n", static_cast<int>(line.size()),
               line.data());
}

DiskStore::DiskStore(Options options)
    : options_(std::move(options)), root_(options_.folder + "/v1") {}

StatusOr<std::shared_ptr<DiskStore>> DiskStore::Open(Options options) {
  std::shared_ptr<DiskStore> store(new DiskStore(std::move(options)));
  for (const std::string& folder :
       {store->options_.folder, store->root_, store->root_ + "/locks",
        store->root_ + "/bad"}) {
    if (const Status made = MakeFolder(folder); !made.ok()) return made;
    if (const Status safe = CheckOwner(folder); !safe.ok()) return safe;
  }
  return store;
}

std::string DiskStore::PathOf(std::string_view kind, const Digest& key) const {
  const std::string hex = key.ToHex();
  return StrCat(root_, "/", kind, "/", hex.substr(0, 2), "/", hex, kSuffix);
}

void DiskStore::LogOnce(std::string_view reason, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (!logged_.emplace(reason).second) return;
  }
  if (options_.log) options_.log(line);
}

std::shared_ptr<const Container> DiskStore::Get(std::string_view kind,
                                                const Digest& key) {
  const std::string path = PathOf(kind, key);
  auto container = Container::Open(path);
  if (container.ok()) {
    Touch(path);
    return *std::move(container);
  }
  switch (container.status().code()) {
    case StatusCode::kNotFound:
      break;
    case StatusCode::kDataLoss:
      Quarantine(kind, key, Message(container.status()));
      break;
    default:
      LogOnce("read",
              StrCat("cannot read the cache: ", Message(container.status())));
  }
  return nullptr;
}

bool DiskStore::Contains(std::string_view kind, const Digest& key) const {
  return access(PathOf(kind, key).c_str(), R_OK) == 0;
}

bool DiskStore::Put(std::string_view kind, const Digest& key,
                    const ContainerWriter& writer) {
  if (writer.size() > options_.max_bytes) return false;
  const std::string path = PathOf(kind, key);
  const std::string folder = fs::path(path).parent_path();
  Status status = MakeFolder(StrCat(root_, "/", kind));
  if (status.ok()) status = MakeFolder(folder);
  if (status.ok()) status = WriteFile(writer, path);
  if (!status.ok()) {
    LogOnce("write",
            StrCat("going on without writing the cache: ", Message(status)));
    return false;
  }
  Grow(writer.size());
  return true;
}

void DiskStore::Grow(uint64_t bytes) {
  uint64_t total = 0;
  {
    const std::lock_guard lock(mutex_);
    if (known_bytes_ < 0) {
      known_bytes_ = 0;
      for (const Entry& entry : List()) known_bytes_ += entry.bytes;
    } else {
      known_bytes_ += bytes;
    }
    total = known_bytes_;
    if (total > options_.max_bytes) known_bytes_ = -1;
  }
  // Some room more, so that not every entry that follows collects again.
  if (total > options_.max_bytes) Collect(options_.max_bytes / 10 * 9);
}

void DiskStore::Quarantine(std::string_view kind, const Digest& key,
                           std::string_view reason) {
  const std::string bad = root_ + "/bad";
  const std::string to = StrCat(bad, "/", kind, "-", key.ToHex(), kSuffix);
  const std::string from = PathOf(kind, key);
  if (rename(from.c_str(), to.c_str()) != 0) (void)unlink(from.c_str());
  KeepNewest(bad, kMaxBad);
  LogOnce(StrCat("bad ", from),
          StrCat("a damaged cache entry was set aside: ", reason));
}

std::unique_ptr<DiskStore::Lock> DiskStore::LockKey(const Digest& key) {
  const std::string path = StrCat(root_, "/locks/", key.ToHex());
  for (;;) {
    const int fd =
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) break;
    int locked;
    do {
      locked = flock(fd, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    // Whoever held it may have removed the file: then the lock is on nothing.
    const auto mine = StampOf(fd), there = StampOf(path);
    if (locked == 0 && mine.ok() && there.ok() && mine->inode == there->inode) {
      return std::unique_ptr<Lock>(new Lock(fd, path));
    }
    close(fd);
    if (locked != 0) break;
  }
  LogOnce("lock", StrCat("cannot lock ", path, ": ", std::strerror(errno)));
  return nullptr;
}

DiskStore::Lock::~Lock() {
  (void)unlink(path_.c_str());
  close(fd_);
}

std::vector<DiskStore::Entry> DiskStore::List() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& file : fs::recursive_directory_iterator(root_, error)) {
    const fs::path& path = file.path();
    const auto key = Digest::FromHex(path.stem().string());
    struct stat info;
    if (!key || path.extension() != kSuffix || stat(path.c_str(), &info) != 0) {
      continue;
    }
    const timespec& used = std::max(info.st_atim, info.st_mtim,
                                    [](const timespec& a, const timespec& b) {
                                      return std::pair(a.tv_sec, a.tv_nsec) <
                                             std::pair(b.tv_sec, b.tv_nsec);
                                    });
    entries.push_back({path.parent_path().parent_path().filename(), *key, path,
                       static_cast<uint64_t>(info.st_size),
                       int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
  });
  return entries;
}

void DiskStore::RemoveLeftovers() const {
  std::error_code error;
  std::vector<fs::path> leftovers;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& file : fs::recursive_directory_iterator(root_, error)) {
    if (file.path().extension() == kStagingSuffix &&
        now - file.last_write_time(error) > kLeftoverAge) {
      leftovers.push_back(file.path());
    }
  }
  for (const fs::path& path : leftovers) fs::remove(path, error);
}

std::vector<std::string> DiskStore::Bad() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(root_ + "/bad", error)) {
    files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

DiskStore::Cleared DiskStore::Clear() {
  Cleared cleared;
  const auto remove = [&](const std::string& path) {
    if (unlink(path.c_str()) == 0) return true;
    if (errno != ENOENT && cleared.kept.empty()) {
      cleared.kept = StrCat(path, ": ", std::strerror(errno));
    }
    return false;
  };
  for (Entry& entry : List()) {
    if (remove(entry.path)) cleared.entries.push_back(std::move(entry));
  }
  for (const std::string& file : Bad()) cleared.bad += remove(file);
  RemoveLeftovers();
  const std::lock_guard lock(mutex_);
  known_bytes_ = -1;
  return cleared;
}

int DiskStore::Collect(uint64_t max_bytes) {
  RemoveLeftovers();
  std::vector<Entry> entries = List();
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used_ns, a.path) < std::tie(b.used_ns, b.path);
  });
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  int removed = 0;
  for (const Entry& entry : entries) {
    if (total <= max_bytes) break;
    if (unlink(entry.path.c_str()) != 0) continue;
    total -= entry.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace encore::cache
