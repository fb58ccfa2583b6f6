// Small texts that a disk store remembers under a digest: what is known of a
// file in a certain state, so that it need not be computed again.
#ifndef ENCORE_CACHE_STORE_MEMO_H_
#define ENCORE_CACHE_STORE_MEMO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/sha256.h"

namespace encore::cache {

// Nothing where there is none; a damaged one is put into quarantine.
std::optional<std::string> ReadMemo(DiskStore& store, const Digest& key);
// When it was written, by the clock of the store's file system; nothing where
// there is none. It counts as no use.
std::optional<int64_t> MemoTimeNs(const DiskStore& store, const Digest& key);
void WriteMemo(DiskStore& store, const Digest& key, std::string text);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_MEMO_H_
