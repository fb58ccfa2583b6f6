// A code generator that fails, for tests of what is said then: with a message,
// or as ENCORE_FAULT says: "abort" as a broken invariant does, "overflow" as
// recursion without end.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "encore/backends/cpu/codegen/module_abi.h"

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

__attribute__((visibility("default"))) const char* encore_codegen_version() {
  return "faulty";
}

__attribute__((visibility("default"))) int encore_codegen_compile(
    const EncoreCodegenRequest*, EncoreCodegenResult* result) {
  const char* fault = std::getenv("ENCORE_FAULT");
  if (fault != nullptr && std::string_view(fault) == "abort") std::abort();
  if (fault != nullptr && std::string_view(fault) == "overflow") {
    return Recurse(1 << 30, fault);
  }
  result->data = strdup("made to fail");
  result->size = std::strlen(result->data);
  return 1;
}

__attribute__((visibility("default"))) void encore_codegen_free(
    EncoreCodegenResult* result) {
  std::free(result->data);
}
}
