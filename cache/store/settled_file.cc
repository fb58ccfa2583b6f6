#include "encore/cache/store/settled_file.h"

#include <filesystem>
#include <string>

#include "encore/cache/store/memo.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {

bool IsSettled(const MappedFile& file, DiskStore& store) {
  const FileStamp& stamp = file.stamp();
  const auto here = store.StampOfNewFile();
  if (!here.ok()) return false;
  if (here->device == stamp.device) return stamp.settled(here->changed_ns);
  const std::string folder = std::filesystem::path(file.path()).parent_path();
  const auto there = StampOfNewFile(folder.empty() ? "." : folder);
  if (there.ok() && there->device == stamp.device) {
    return stamp.settled(there->changed_ns);
  }
  const Digest seen = Sha256Of(StrCat("seen ", stamp.ToString()));
  if (const auto first = MemoTimeNs(store, seen)) {
    return *first <= here->changed_ns - FileStamp::kSettledNs;
  }
  WriteMemo(store, seen, "");
  return false;
}

}  // namespace encore::cache
