// A code generator that fails, for tests of what is said then: with a message,
// or as a broken invariant does where ENCORE_FAULT is "abort".
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "encore/backends/cpu/codegen/module_abi.h"

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
  result->data = strdup("made to fail");
  result->size = std::strlen(result->data);
  return 1;
}

__attribute__((visibility("default"))) void encore_codegen_free(
    EncoreCodegenResult* result) {
  std::free(result->data);
}
}
