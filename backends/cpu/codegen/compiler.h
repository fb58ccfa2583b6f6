// CompileObjects: LLVM IR in, object files out, by way of the code generator
// module, which the first call loads. All of it happens in memory: no file is
// written. ../elf/image_linker.h makes an image of them.
//
// The module, libencore_cpu_codegen.so, is looked for
//   1. at the path in the environment variable ENCORE_CODEGEN, and only there
//      if that is set;
//   2. in the runfiles of the program or test, in any repository named there;
//   3. beside the program;
//   4. in backends/cpu/codegen below the program's folder or one of its parents
//      (a Bazel output tree).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_COMPILER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_COMPILER_H_

#include <span>
#include <string>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// An object file of each of `modules`, by itself. Compiles on `threads`
// threads. Deterministic, thread-safe. NotFound says where the module was
// looked for, FailedPrecondition why it cannot be loaded; ResourceExhausted:
// memory ran out. Internal is a fault in `modules`.
StatusOr<std::vector<std::string>> CompileObjects(
    std::span<const std::string> modules, Isa isa, int threads);

// The same as assembly, for people.
StatusOr<std::string> CompileToAssembly(const std::string& module, Isa isa);

// ResourceExhausted: memory ran out while kernels were generated or compiled.
Status NoMemoryToCompile();

// The target's ingredient: LLVM's version and the id of the module that would
// be loaded, "19.1.7 3fb8…", or "none". Read from the file, which stays
// unloaded; asked once. A module whose file has changed since then is not
// loaded.
const std::string& CodegenId();

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_COMPILER_H_
