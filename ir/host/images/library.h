// Shared libraries that are loaded when they are needed.
//
// A program that decodes no image loads none of them, and one that is copied to
// a machine without them runs until a file of that format comes.
#ifndef ENCORE_IR_HOST_IMAGES_LIBRARY_H_
#define ENCORE_IR_HOST_IMAGES_LIBRARY_H_

#include <string>
#include <type_traits>

#include "encore/ir/support/status.h"

namespace encore::host {

// The functions of one library:
//   struct Functions { decltype(&f) f; };
//   StatusOr<Functions> Load() {
//     Library library("libx.so.1", "libx1");
//     Functions functions;
//     library.Bind("f", &functions.f);
//     return library.Found(functions);
//   }
// It stays loaded as long as the process lives.
class Library {
 public:
  // Loads `soname`, which Debian's `package` has, from where the system keeps
  // its libraries.
  Library(const char* soname, const char* package);

  template <typename Function>
  void Bind(const char* name, Function* function) {
    static_assert(std::is_pointer_v<Function>);
    *function = reinterpret_cast<Function>(Find(name));
  }

  // `functions`, or FailedPrecondition: the library or a function of it was not
  // found; the message names what to install.
  template <typename Functions>
  StatusOr<Functions> Found(const Functions& functions) const {
    if (error_.empty()) return functions;
    return FailedPreconditionError(error_);
  }

 private:
  void* Find(const char* name);

  const char* soname_;
  const char* package_;
  void* handle_;
  std::string error_;
};

}  // namespace encore::host

#endif  // ENCORE_IR_HOST_IMAGES_LIBRARY_H_
