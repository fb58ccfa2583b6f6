// The C interface of the code generator module, libencore_cpu_codegen.so.
//
// The module is LLVM and the linker behind one function: LLVM IR as text in,
// one position-independent image without imports or relocations out. It is
// loaded with dlopen and only on a cache miss, because loading LLVM costs a
// process some 20 ms; compiler.h is its client, and nobody else includes this
// file but the module.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_MODULE_ABI_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_MODULE_ABI_H_

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define ENCORE_CODEGEN_ABI 1

struct EncoreCodegenText {
  const char* data;
  size_t size;
};

struct EncoreCodegenRequest {
  const char* cpu;       // LLVM's -mcpu, "x86-64-v4"
  const char* features;  // LLVM's -mattr, "+avx512f,+fma"
  const char* passes;    // pass pipeline of LLVM's opt
  int threads;           // modules are compiled on as many threads
  size_t module_count;
  const EncoreCodegenText* modules;  // LLVM IR; symbols are unique over all
  int emit_assembly;  // the result is assembly of all modules, not an image
};

// Both return 0 and a result that must be freed, or 1 and a message in it.
struct EncoreCodegenResult {
  char* data;
  size_t size;
};

int encore_codegen_abi(void);
const char* encore_codegen_version(void);  // LLVM's, "19.1.7"
// Thread-safe; calls take turns in the linker.
int encore_codegen_compile(const EncoreCodegenRequest* request,
                           EncoreCodegenResult* result);
void encore_codegen_free(EncoreCodegenResult* result);
}

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_MODULE_ABI_H_
