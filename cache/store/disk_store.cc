#include "encore/cache/store/disk_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".encore";
constexpr std::string_view kUsedSuffix = ".used";
// Quarantined entries beyond these go.
constexpr size_t kMaxBad = 16;
// Without locks, what was left alone for a day is nobody's any more: nobody
// writes an entry or compiles for so long.
constexpr int64_t kAbandonedNs = int64_t{24} * 3600 * 1'000'000'000;
// Uses closer together than this are not written down.
constexpr int64_t kUseGranularityNs = 60'000'000'000;

// Makes a folder for the user alone.
Status MakeFolder(const std::string& path) {
  if (sys::MkDir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST)
    return OkStatus();
  return WriteError(path, errno);
}

// Makes the store's folders where they are not there.
Status MakeFoldersOf(const std::string& folder, const std::string& root) {
  // Where these cannot be made, the next cannot either.
  (void)MakeFolders(fs::path(folder).parent_path());
  for (const std::string& path :
       {folder, root, root + "/locks", root + "/bad", root + "/staging"}) {
    ENCORE_RETURN_IF_ERROR(MakeFolder(path));
  }
  return OkStatus();
}

// Opens a folder that is to be the user's own.
StatusOr<HeldFolder> OpenOwn(StatusOr<HeldFolder> folder) {
  if (!folder.ok()) return PermissionDeniedError(Message(folder.status()));
  const Status own = CheckOwnerOnly(folder->descriptor(), folder->path());
  if (own.ok()) return folder;
  return PermissionDeniedError(StrCat(
      Message(own), "; a folder of one's own can be used, after chmod 700"));
}

std::string UsedPath(const std::string& entry) {
  return entry.substr(0, entry.size() - kSuffix.size()) +
         std::string(kUsedSuffix);
}

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// Writes down that an entry, written at `written_ns`, is used now: beside it,
// since the entry's own times tell whether its contents changed.
void RecordUse(const std::string& entry, int64_t written_ns) {
  const int64_t now = NowNs();
  if (now - written_ns < kUseGranularityNs) return;
  const std::string used = UsedPath(entry);
  struct stat info;
  const bool there = sys::FStatAt(AT_FDCWD, used.c_str(), &info, 0) == 0;
  if (there && now - ModifiedNs(info) < kUseGranularityNs) return;
  const Descriptor record(sys::OpenAt(AT_FDCWD, used.c_str(),
                                      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                                      S_IRUSR | S_IWUSR));
  if (!record.is_open()) return;
  // A disk that is full takes the time of the use all the same.
  if (sys::Write(record.number(), "+", 1) == 1) return;
  (void)sys::UTimeNsAt(AT_FDCWD, used.c_str(), nullptr, 0);
}

// What an entry says of where it belongs.
std::string AddressOf(std::string_view kind, const Digest& key) {
  return StrCat(kind, "/", key.ToHex());
}

// Removes an entry and what is written down of it.
bool RemoveEntry(const std::string& path) {
  if (sys::Unlink(path.c_str()) != 0) return false;
  (void)sys::Unlink(UsedPath(path).c_str());
  return true;
}

// The sum of the sizes of a folder's files.
uint64_t FolderBytes(const std::string& folder) {
  uint64_t total = 0;
  for (const FoundFile& file : WalkFolder(folder).files) {
    total += static_cast<uint64_t>(file.info.st_size);
  }
  return total;
}

// Removes the oldest files of a folder beyond `keep`.
void KeepNewest(const std::string& folder, size_t keep) {
  std::vector<std::pair<int64_t, std::string>> files;
  for (FoundFile& file : WalkFolder(folder).files) {
    files.emplace_back(ModifiedNs(file.info), std::move(file.path));
  }
  if (files.size() <= keep) return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + keep < files.size(); ++i) {
    (void)sys::Unlink(files[i].second.c_str());
  }
}

}  // namespace

void LogToStderr(std::string_view line) {
  std::fprintf(stderr, "encore: %.*s\n", static_cast<int>(line.size()),
               line.data());
}

void SortByUse(std::vector<DiskStore::Entry>* entries) {
  std::ranges::sort(*entries, [](const auto& a, const auto& b) {
    return std::tie(b.used_ns, b.key) < std::tie(a.used_ns, a.key);
  });
}

Status CheckAddress(const Container& container, std::string_view kind,
                    const Digest& key) {
  if (container.Find(SectionType::kAddress) == nullptr) {
    return NotFoundError("an entry of an earlier release");
  }
  ENCORE_ASSIGN_OR_RETURN(const auto address,
                          container.Read(SectionType::kAddress));
  const std::string_view text(reinterpret_cast<const char*>(address.data()),
                              address.size());
  if (text == AddressOf(kind, key)) return OkStatus();
  return DataLossError(StrCat("section address: it belongs at ", Quote(text)));
}

DiskStore::DiskStore(Options options, HeldFolder root)
    : options_(std::move(options)),
      held_(std::move(root)),
      root_(held_.path()) {}

StatusOr<std::shared_ptr<DiskStore>> DiskStore::Open(Options options) {
  const std::string root = options.folder + "/v1";
  ENCORE_RETURN_IF_ERROR(MakeFoldersOf(options.folder, root));
  ENCORE_ASSIGN_OR_RETURN(const HeldFolder folder,
                          OpenOwn(HeldFolder::Open(options.folder)));
  ENCORE_ASSIGN_OR_RETURN(HeldFolder held, OpenOwn(folder.OpenFolder("v1")));
  RemoveDeadStagedFiles(root + "/staging");
  RemoveDeadLocks(root + "/locks");
  return std::shared_ptr<DiskStore>(
      new DiskStore(std::move(options), std::move(held)));
}

std::string DiskStore::PathOf(std::string_view kind, const Digest& key) const {
  const std::string hex = key.ToHex();
  return StrCat(root_, "/", kind, "/", hex.substr(0, 1), "/", hex, kSuffix);
}

void DiskStore::LogOnce(std::string_view reason, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (!logged_.emplace(reason).second) return;
  }
  if (options_.log) options_.log(line);
}

StatusOr<std::shared_ptr<const Container>> DiskStore::OpenEntry(
    std::string_view kind, const Digest& key, FileStamp* stamp) const {
  const std::string hex = key.ToHex();
  ENCORE_ASSIGN_OR_RETURN(const HeldFolder of_kind, held_.OpenFolder(kind));
  ENCORE_ASSIGN_OR_RETURN(const HeldFolder folder,
                          of_kind.OpenFolder(hex.substr(0, 1)));
  ENCORE_ASSIGN_OR_RETURN(Descriptor file,
                          folder.OpenFile(StrCat(hex, kSuffix)));
  const std::string path = PathOf(kind, key);
  ENCORE_RETURN_IF_ERROR(CheckOwnerOnly(file.number(), path));
  ENCORE_ASSIGN_OR_RETURN(*stamp, StampOf(file.number(), path));
  ENCORE_ASSIGN_OR_RETURN(auto container,
                          Container::OfDescriptor(std::move(file), path));
  ENCORE_RETURN_IF_ERROR(CheckAddress(*container, kind, key));
  return container;
}

std::shared_ptr<const Container> DiskStore::Get(std::string_view kind,
                                                const Digest& key,
                                                Durability durability) {
  FileStamp stamp;
  auto container = OpenEntry(kind, key, &stamp);
  if (container.ok()) {
    RecordUse(PathOf(kind, key), stamp.modified_ns);
    return *std::move(container);
  }
  switch (container.status().code()) {
    case StatusCode::kNotFound:
      break;
    case StatusCode::kDataLoss:
      SetAside(kind, key, stamp, container.status(), durability);
      break;
    default:
      CannotRead(container.status());
  }
  return nullptr;
}

std::shared_ptr<const Container> DiskStore::Peek(std::string_view kind,
                                                 const Digest& key) const {
  FileStamp stamp;
  auto container = OpenEntry(kind, key, &stamp);
  return container.ok() ? *std::move(container) : nullptr;
}

StatusOr<FileStamp> DiskStore::StampOfNewFile() const {
  const std::string folder = root_ + "/staging";
  auto stamp = encore::StampOfNewFile(folder);
  if (stamp.ok()) return stamp;
  // A file system without files that have no name.
  ENCORE_ASSIGN_OR_RETURN(const StagedFile file,
                          StagedFile::Create(folder + "/new"));
  return StampOf(file.staging());
}

void DiskStore::CannotRead(const Status& why) {
  LogOnce("read", StrCat("cannot read the cache: ", Message(why)));
}

bool DiskStore::Contains(std::string_view kind, const Digest& key) const {
  return sys::Access(PathOf(kind, key).c_str(), R_OK) == 0;
}

Status DiskStore::WriteEntry(std::string_view kind, const std::string& path,
                             const ContainerWriter& writer,
                             const WriteOptions& options) const {
  ENCORE_RETURN_IF_ERROR(MakeFolder(StrCat(root_, "/", kind)));
  ENCORE_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path()));
  return WriteFile(writer, path, options);
}

bool DiskStore::Put(std::string_view kind, const Digest& key,
                    ContainerWriter writer, Durability durability) {
  return Write(kind, key, std::move(writer), durability, nullptr);
}

bool DiskStore::PutUnless(std::string_view kind, const Digest& key,
                          ContainerWriter writer, const Keeps& keeps) {
  // Held until the entry is in its place.
  std::unique_ptr<FileLock> lock;
  const auto check = [&]() -> Status {
    lock.reset();
    ENCORE_ASSIGN_OR_RETURN(lock, LockPlace(kind, key));
    const auto there = Peek(kind, key);
    if (there == nullptr || !keeps(*there)) return OkStatus();
    return MakeStatus(StatusCode::kAlreadyExists, AddressOf(kind, key));
  };
  return Write(kind, key, std::move(writer), Durability::kSynced, check);
}

bool DiskStore::Write(std::string_view kind, const Digest& key,
                      ContainerWriter writer, Durability durability,
                      const std::function<Status()>& check) {
  if (writer.size() > options_.max_bytes) return false;
  writer.AddOwned(SectionType::kAddress, AddressOf(kind, key));
  const std::string path = PathOf(kind, key);
  const WriteOptions options = {.staging_folder = root_ + "/staging",
                                .synced = durability == Durability::kSynced,
                                .check = check};
  Status status = WriteEntry(kind, path, writer, options);
  if (status.code() == StatusCode::kNotFound) {
    // Somebody removed the store, or a part of it.
    status = MakeFoldersOf(options_.folder, root_);
    if (status.ok()) status = WriteEntry(kind, path, writer, options);
  }
  if (status.code() == StatusCode::kAlreadyExists) return false;
  if (!status.ok()) {
    LogOnce("write",
            StrCat("going on without writing the cache: ", Message(status)));
    return false;
  }
  Grow(writer.size());
  return true;
}

uint64_t DiskStore::TotalBytes(const std::vector<Entry>& entries) const {
  uint64_t total =
      FolderBytes(root_ + "/bad") + FolderBytes(root_ + "/staging");
  for (const Entry& entry : entries) total += entry.bytes;
  return total;
}

void DiskStore::Grow(uint64_t bytes) {
  uint64_t total = 0;
  {
    const std::lock_guard lock(mutex_);
    if (known_bytes_ < 0) {
      known_bytes_ = static_cast<int64_t>(TotalBytes(List()));
    } else {
      known_bytes_ += static_cast<int64_t>(bytes);
    }
    total = static_cast<uint64_t>(known_bytes_);
    if (total > options_.max_bytes) known_bytes_ = -1;
  }
  // Some room more, so that not every entry that follows collects again.
  if (total > options_.max_bytes) Collect(options_.max_bytes / 10 * 9);
}

void DiskStore::Quarantine(std::string_view kind, const Digest& key,
                           const Container& read, const Status& why,
                           Durability durability) {
  SetAside(kind, key, read.file()->stamp(), why, durability);
}

void DiskStore::SetAside(std::string_view kind, const Digest& key,
                         const FileStamp& read, const Status& why,
                         Durability durability) {
  switch (why.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kPermissionDenied:
    case StatusCode::kResourceExhausted:
      return CannotRead(why);
    default:
      break;
  }
  // Nobody looks at the entry to keep or replace it meanwhile. Who cannot get
  // the lock leaves it to the next one that reads the entry.
  const auto lock = LockPlace(kind, key);
  if (!lock.ok()) return;
  const std::string bad = root_ + "/bad";
  const std::string to = StrCat(bad, "/", kind, "-", key.ToHex(), kSuffix);
  const std::string from = PathOf(kind, key);
  const auto there = StampOf(from);
  // Somebody else has set it aside, or put another in its place.
  if (!there.ok() || *there != read) return;
  if (durability == Durability::kWritten) {
    (void)RemoveEntry(from);
    return;
  }
  if (sys::Rename(from.c_str(), to.c_str()) != 0) {
    (void)sys::Unlink(from.c_str());
  } else if (const auto moved = StampOf(to);
             moved.ok() && moved->inode != read.inode) {
    // Put needs no lock: it came at the last moment.
    (void)sys::Rename(to.c_str(), from.c_str());
    return;
  }
  KeepNewest(bad, kMaxBad);
  LogOnce(StrCat("bad ", from),
          StrCat("a damaged cache entry was set aside: ", Message(why)));
}

std::vector<DiskStore::Entry> DiskStore::List() const {
  return EntriesOf(WalkFolder(root_));
}

std::vector<DiskStore::Entry> DiskStore::ListKind(std::string_view kind) const {
  return EntriesOf(WalkFolder(StrCat(root_, "/", kind)));
}

std::vector<DiskStore::Entry> DiskStore::EntriesOf(
    const FolderContents& contents) {
  // By their paths.
  std::map<std::string_view, const struct stat*> records;
  for (const FoundFile& file : contents.files) {
    if (file.path.ends_with(kUsedSuffix)) {
      records.emplace(file.path, &file.info);
    }
  }
  std::vector<Entry> entries;
  for (const FoundFile& file : contents.files) {
    const fs::path path = file.path;
    const auto key = Digest::FromHex(path.stem().string());
    if (!key || path.extension() != kSuffix) continue;
    Entry entry = {path.parent_path().parent_path().filename(), *key, file.path,
                   static_cast<uint64_t>(file.info.st_size),
                   ModifiedNs(file.info)};
    const auto record = records.find(UsedPath(file.path));
    if (record != records.end()) {
      entry.used_ns = std::max(entry.used_ns, ModifiedNs(*record->second));
      entry.uses = record->second->st_size;
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
  });
  return entries;
}

void DiskStore::RemoveLeftovers(const FolderContents& contents) const {
  const auto now = StampOfNewFile();
  const int64_t abandoned_ns =
      now.ok() ? now->changed_ns - kAbandonedNs : INT64_MIN;
  std::set<std::string_view> entries;
  for (const FoundFile& file : contents.files) {
    if (file.path.ends_with(kSuffix)) entries.insert(file.path);
  }
  for (const std::string& folder : contents.folders) {
    RemoveDeadStagedFiles(folder, abandoned_ns);
  }
  RemoveDeadLocks(root_ + "/locks", abandoned_ns);
  for (const FoundFile& file : contents.files) {
    if (!file.path.ends_with(kUsedSuffix)) continue;
    const std::string stem =
        file.path.substr(0, file.path.size() - kUsedSuffix.size());
    if (!entries.contains(StrCat(stem, kSuffix))) {
      (void)sys::Unlink(file.path.c_str());
    }
  }
}

std::vector<std::string> DiskStore::Bad() const {
  std::vector<std::string> files;
  for (FoundFile& file : WalkFolder(root_ + "/bad").files) {
    files.push_back(std::move(file.path));
  }
  return files;
}

DiskStore::Cleared DiskStore::Clear() {
  Cleared cleared;
  const auto remove = [&](const std::string& path) {
    if (RemoveEntry(path)) return true;
    if (errno != ENOENT && cleared.kept.empty()) {
      cleared.kept = StrCat(path, ": ", std::strerror(errno));
    }
    return false;
  };
  const FolderContents contents = WalkFolder(root_);
  for (Entry& entry : EntriesOf(contents)) {
    if (remove(entry.path)) cleared.entries.push_back(std::move(entry));
  }
  for (const std::string& file : Bad()) cleared.bad += remove(file);
  RemoveLeftovers(WalkFolder(root_));
  if (!contents.status.ok() && cleared.kept.empty()) {
    cleared.kept = Message(contents.status);
  }
  const std::lock_guard lock(mutex_);
  known_bytes_ = -1;
  return cleared;
}

int DiskStore::Collect(uint64_t max_bytes) {
  const FolderContents contents = WalkFolder(root_);
  RemoveLeftovers(contents);
  std::vector<Entry> entries = EntriesOf(contents);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used_ns, a.path) < std::tie(b.used_ns, b.path);
  });
  uint64_t total = TotalBytes(entries);
  if (total > max_bytes) {
    KeepNewest(root_ + "/bad", 0);
    total = TotalBytes(entries);
  }
  int removed = 0;
  for (const Entry& entry : entries) {
    if (total <= max_bytes) break;
    if (!RemoveEntry(entry.path)) continue;
    total -= entry.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace encore::cache
