// Whether code in a file may be run without being told so.
#ifndef ENCORE_CACHE_TRUST_H_
#define ENCORE_CACHE_TRUST_H_

#include <string>

#include "encore/ir/support/status.h"

namespace encore::cache {

// OK where nobody but this process's user can have put the file there as it is:
// it is a regular file below `store`, and the file, `store` and every folder
// between belong to the user and are closed to everyone else. PermissionDenied
// says what is not so. Symbolic links are followed first.
Status CheckOwnerOnly(const std::string& path, const std::string& store);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TRUST_H_
