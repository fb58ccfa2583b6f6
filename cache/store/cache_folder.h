// Where a user's cache lies.
#ifndef ENCORE_CACHE_STORE_CACHE_FOLDER_H_
#define ENCORE_CACHE_STORE_CACHE_FOLDER_H_

#include <string>

namespace encore::cache {

// The folder of the user's cache: $ENCORE_CACHE, or
// $XDG_CACHE_HOME/encore/cache, or ~/.cache/encore/cache; empty where none of
// them is set or ENCORE_CACHE is "off".
std::string DefaultCacheFolder();

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_CACHE_FOLDER_H_
