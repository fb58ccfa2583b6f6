#include "encore/ir/host/images/library.h"

#include <dlfcn.h>

#include "encore/ir/support/strings.h"

namespace encore::host {

Library::Library(const char* soname, const char* package)
    : soname_(soname),
      package_(package),
      handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  error_ = StrCat("cannot load ", soname, " (",
                  reason != nullptr ? reason : "no reason given",
                  "): install Debian's package ", package);
}

void* Library::Find(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const function = dlsym(handle_, name);
  if (function == nullptr) {
    error_ = StrCat(soname_, " has no ", name, ": install Debian's package ",
                    package_);
  }
  return function;
}

}  // namespace encore::host
