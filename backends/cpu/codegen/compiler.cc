#include "encore/backends/cpu/codegen/compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "encore/backends/cpu/codegen/module_abi.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libencore_cpu_codegen.so";
constexpr char kFolder[] = "backends/cpu/codegen";
// Kernels come with their vectors and unrolling; this cleans up after them.
constexpr char kPasses[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
    "fixpoint>,loop-simplify,loop-mssa(licm),gvn,instcombine<no-verify-"
    "fixpoint>,loop-mssa(licm),early-cse<memssa>,simplifycfg,adce)";

struct Module {
  decltype(&encore_codegen_compile) compile = nullptr;
  decltype(&encore_codegen_free) free = nullptr;
  decltype(&encore_codegen_version) version = nullptr;
};

// `root`/<repository>/backends/cpu/codegen/<library>, whatever the repository.
void AddRunfiles(const fs::path& root, std::vector<fs::path>* places) {
  places->push_back(root / "encore" / kFolder / kLibrary);
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    places->push_back(entry->path() / kFolder / kLibrary);
    places->push_back(entry->path() / "external/encore" / kFolder / kLibrary);
  }
}

std::vector<fs::path> Places() {
  if (const char* path = std::getenv("ENCORE_CODEGEN")) return {path};
  std::vector<fs::path> places;
  for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const char* path = std::getenv(variable)) AddRunfiles(path, &places);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return places;
  AddRunfiles(program.string() + ".runfiles", &places);
  const fs::path folder = program.parent_path();
  places.push_back(folder / kLibrary);
  for (fs::path up = folder; up.has_relative_path(); up = up.parent_path()) {
    places.push_back(up / kFolder / kLibrary);
    places.push_back(up / "external/encore" / kFolder / kLibrary);
  }
  return places;
}

StatusOr<Module> OpenModule(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailedPreconditionError(
        StrCat("the code generator cannot be loaded: ", dlerror()));
  }
  const auto abi = reinterpret_cast<decltype(&encore_codegen_abi)>(
      dlsym(library, "encore_codegen_abi"));
  Module module;
  module.compile = reinterpret_cast<decltype(module.compile)>(
      dlsym(library, "encore_codegen_compile"));
  module.free = reinterpret_cast<decltype(module.free)>(
      dlsym(library, "encore_codegen_free"));
  module.version = reinterpret_cast<decltype(module.version)>(
      dlsym(library, "encore_codegen_version"));
  if (abi == nullptr || abi() != ENCORE_CODEGEN_ABI || !module.compile ||
      !module.free || !module.version) {
    return FailedPreconditionError(
        StrCat(path.string(), " is not the code generator of this release"));
  }
  return module;
}

StatusOr<Module> FindModule() {
  const std::vector<fs::path> places = Places();
  std::error_code error;
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return OpenModule(place);
  }
  return NotFoundError(StrCat(
      "the code generator ", kLibrary,
      " is not there; it belongs beside the program, or ENCORE_CODEGEN says "
      "where it is. Looked for: ",
      StrJoin(places, ", ", [](std::string* out, const fs::path& place) {
        out->append(place.string());
      })));
}

const StatusOr<Module>& TheModule() {
  static const auto* const module = new StatusOr<Module>(FindModule());
  return *module;
}

StatusOr<std::string> Run(std::span<const std::string> modules, Isa isa,
                          int threads, bool assembly) {
  if (!TheModule().ok()) return TheModule().status();
  if (isa == Isa::kNone) {
    return FailedPreconditionError(
        "this CPU has no AVX2 and FMA, which generated code needs");
  }
  std::vector<EncoreCodegenText> texts;
  for (const std::string& module : modules) {
    texts.push_back({module.data(), module.size()});
  }
  EncoreCodegenRequest request = {};
  request.cpu = isa == Isa::kAvx512 ? "x86-64-v4" : "x86-64-v3";
  request.features = isa == Isa::kAvx512 ? "-prefer-256-bit" : "";
  request.passes = kPasses;
  request.threads = threads;
  request.module_count = texts.size();
  request.modules = texts.data();
  request.emit_assembly = assembly;
  EncoreCodegenResult result = {};
  const int failed = TheModule()->compile(&request, &result);
  std::string text(result.data, result.size);
  TheModule()->free(&result);
  if (failed) return InternalError(StrCat("generated code: ", text));
  return text;
}

}  // namespace

StatusOr<std::vector<std::byte>> CompileImage(
    std::span<const std::string> modules, Isa isa, int threads) {
  ENCORE_ASSIGN_OR_RETURN(const std::string text,
                          Run(modules, isa, threads, /*assembly=*/false));
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

StatusOr<std::string> CompileToAssembly(const std::string& module, Isa isa) {
  return Run({&module, 1}, isa, /*threads=*/1, /*assembly=*/true);
}

StatusOr<std::string> CodegenVersion() {
  if (!TheModule().ok()) return TheModule().status();
  return std::string(TheModule()->version());
}

}  // namespace encore::backends::cpu
