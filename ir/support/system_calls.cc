#include "encore/ir/support/system_calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

class TheSystem final : public SystemCalls {};

constinit TheSystem the_system;
constinit std::atomic<SystemCalls*> current = &the_system;

}  // namespace

std::string_view Name(SystemCall call) {
  constexpr std::string_view kNames[] = {
#define ENCORE_SYSTEM_CALL(Result, Name, ...) #Name,
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL
  };
  return kNames[static_cast<size_t>(call)];
}

#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, Arguments, ...) \
  Result SystemCalls::Name Parameters { return ::function Arguments; }
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL

SystemCalls& CurrentSystemCalls() {
  return *current.load(std::memory_order_acquire);
}

ScopedSystemCalls::ScopedSystemCalls(SystemCalls* calls) {
  SystemCalls* expected = &the_system;
  ENCORE_CHECK(current.compare_exchange_strong(expected, calls))
      << "system calls are replaced already";
}

ScopedSystemCalls::~ScopedSystemCalls() { current = &the_system; }

}  // namespace encore
