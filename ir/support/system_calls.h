// SystemCalls: the operating system, as what is kept in files sees it.
//
// Caches, containers, packages and generated code reach files, folders, locks,
// mappings and clocks by these calls alone, so that a test can let each of them
// fail, be interrupted, do half of what it was asked, or lie:
//
//   const int fd = sys::OpenAt(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
//   if (fd < 0) return ReadError(path, errno);
//
// A sys:: function is the call of system_calls.def of that name, made again
// while a signal interrupts it; close is never made again, since Linux closes
// all the same. Not by these calls: what is read through a mapping, shared
// libraries (dlopen, LLVM), threads, and what a program prints. Thread-safe
// where the calls are.
#ifndef ENCORE_IR_SUPPORT_SYSTEM_CALLS_H_
#define ENCORE_IR_SUPPORT_SYSTEM_CALLS_H_

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace encore {

enum class SystemCall : uint8_t {
#define ENCORE_SYSTEM_CALL(Result, Name, ...) k##Name,
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL
};

#define ENCORE_SYSTEM_CALL(...) +1
inline constexpr int kSystemCallCount =
#include "encore/ir/support/system_calls.def"
    ;
#undef ENCORE_SYSTEM_CALL

// "OpenAt".
std::string_view Name(SystemCall call);

// The calls themselves. Tests derive from it.
class SystemCalls {
 public:
  constexpr SystemCalls() = default;
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;

#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, ...) \
  virtual Result Name Parameters;
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL

 protected:
  // There is one until the process ends.
  ~SystemCalls() = default;
};

// What sys:: calls; never null. Async-signal-safe.
SystemCalls& CurrentSystemCalls();

// Puts other calls in the place of the system's as long as it lives, for all
// threads; for tests. `calls` must outlive it, and every thread that is in one
// of them when it goes. One at a time.
class ScopedSystemCalls {
 public:
  explicit ScopedSystemCalls(SystemCalls* calls);
  ~ScopedSystemCalls();
  ScopedSystemCalls(const ScopedSystemCalls&) = delete;
  ScopedSystemCalls& operator=(const ScopedSystemCalls&) = delete;
};

namespace sys {

#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, Arguments, \
                           failure, ...)                                  \
  inline Result Name Parameters {                                         \
    for (;;) {                                                            \
      const auto result = CurrentSystemCalls().Name Arguments;            \
      if (result != failure || errno != EINTR ||                          \
          SystemCall::k##Name == SystemCall::kClose) {                    \
        return result;                                                    \
      }                                                                   \
    }                                                                     \
  }
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL

}  // namespace sys
}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_SYSTEM_CALLS_H_
