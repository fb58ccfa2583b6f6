// The C interface of the code generator module, libencore_cpu_codegen.so.
//
// The module is LLVM behind one function: LLVM IR as text in, a relocatable
// object file out. It carries its own LLVM, so that its build id
// (../elf/library_file.h) stands for all that generates code; the note below
// says which LLVM that is. It is loaded with dlopen and only on a cache miss,
// because loading it costs a process some milliseconds; compiler.h is its
// client, and nobody else includes this file but the module.
//
// The module installs no signal handlers, opens no files and starts no threads.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_MODULE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_MODULE_H_

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define ENCORE_CODEGEN_ABI 2

// The ELF note that says LLVM's version, "19.1.7": its owner and type.
#define ENCORE_CODEGEN_NOTE_OWNER "Encore"
#define ENCORE_CODEGEN_NOTE_TYPE 1

struct EncoreCodegenRequest {
  const char* cpu;       // LLVM's -mcpu, "x86-64-v4"
  const char* features;  // LLVM's -mattr, "+avx512f,+fma"
  const char* passes;    // pass pipeline of LLVM's opt
  const char* module;    // LLVM IR
  size_t module_size;
  int emit_assembly;  // the result is assembly, not an object
};

// What encore_codegen_compile returns.
enum EncoreCodegenCode {
  kEncoreCodegenOk = 0,
  kEncoreCodegenFault = 1,     // of the module given; the result is a message
  kEncoreCodegenNoMemory = 2,  // the result is empty
};

// What a call returns, to be freed whatever it returned.
struct EncoreCodegenResult {
  char* data;
  size_t size;
};

int encore_codegen_abi(void);
// Thread-safe. What LLVM had half done when memory ran out is lost: it stays
// allocated.
int encore_codegen_compile(const EncoreCodegenRequest* request,
                           EncoreCodegenResult* result);
void encore_codegen_free(EncoreCodegenResult* result);
}

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_MODULE_H_
