// Whose code it is: what may run, and what may be kept.
//
// Code of the user's own is what this process compiled, and what lies in a
// store that is the user's alone. Anything else is foreign: it runs only where
// the caller says so, and neither it nor anything that it computed enters a
// store. Ownership is decided on descriptors: of the very file that was mapped,
// and of the folders that it is reached by.
#ifndef ENCORE_CACHE_STORE_TRUST_H_
#define ENCORE_CACHE_STORE_TRUST_H_

#include <cstdint>
#include <string>

#include "encore/cache/store/container.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

enum class CodeOrigin : uint8_t { kOwn, kForeign };

// What a caller lets happen with code from a file.
enum class CodeTrust : uint8_t {
  kCompileInstead,  // it is not run: the graph is compiled
  kRun,             // it may run, as foreign code
};

// OK where the open file or folder belongs to this process's user and is closed
// to everyone else. PermissionDenied says what is not so; `path` is its name in
// the message.
Status CheckOwnerOnly(int fd, const std::string& path);

// OK where nobody but this process's user can have put `file` there as it is:
// it lies below the folder `store`, and it, `store` and every folder between
// are owner-only. `path` says where it was opened; if by now something else is
// there, or a link leads to it from outside, that is another file and
// PermissionDenied. So is a container over bytes in memory.
Status CheckLiesInStore(const Container& file, const std::string& path,
                        const std::string& store);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_TRUST_H_
