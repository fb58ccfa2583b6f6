// Reading a cache entry again, whole.
#ifndef ENCORE_TOOLS_CACHE_VERIFY_ENTRY_H_
#define ENCORE_TOOLS_CACHE_VERIFY_ENTRY_H_

#include <string>
#include <vector>

#include "encore/cache/store/disk_store.h"

namespace encore::tools {

// What is wrong with an entry, one text for each damaged section: checksums,
// and of a compiled graph its key, its form and its plan. Empty: nothing.
std::vector<std::string> VerifyEntry(const cache::DiskStore::Entry& entry);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_CACHE_VERIFY_ENTRY_H_
