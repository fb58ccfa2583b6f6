// A code generator that fails, for tests of what is said then: with a message,
// or as ENCORE_FAULT says: "memory" as one that has none left, "abort" as a
// broken invariant does, "overflow" as recursion without end, "helper overflow"
// as such recursion in a thread that helps, while the first one waits, and
// "wait" as work that takes a minute.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "encore/backends/cpu/codegen/module.h"

namespace {

// Needs more stack than there is.
int Recurse(int depth, volatile const char* from) {
  volatile char frame[4096] = {};
  frame[0] = *from;
  return depth == 0 ? 0 : Recurse(depth - 1, frame) + frame[0];
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int encore_codegen_abi() {
  return ENCORE_CODEGEN_ABI;
}

__attribute__((visibility("default"))) int encore_codegen_compile(
    const EncoreCodegenRequest*, EncoreCodegenResult* result) {
  const char* text = std::getenv("ENCORE_FAULT");
  const std::string_view fault = text == nullptr ? "" : text;
  *result = {};
  if (fault == "memory") return kEncoreCodegenNoMemory;
  if (fault == "abort") std::abort();
  if (fault == "helper overflow" && getpid() != gettid())
    Recurse(1 << 30, text);
  if (fault == "wait" || fault == "helper overflow") sleep(60);
  if (fault == "overflow") return Recurse(1 << 30, text);
  result->data = strdup("made to fail");
  result->size = std::strlen(result->data);
  return kEncoreCodegenFault;
}

__attribute__((visibility("default"))) void encore_codegen_free(
    EncoreCodegenResult* result) {
  std::free(result->data);
}
}
