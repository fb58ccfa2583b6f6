#include "encore/backends/cpu/codegen/compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "encore/backends/cpu/codegen/module.h"
#include "encore/backends/cpu/elf/library_file.h"
#include "encore/ir/support/each_on_threads.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libencore_cpu_codegen.so";
constexpr char kFolder[] = "backends/cpu/codegen";
// Kernels come with their vectors and unrolling; this cleans up after them.
constexpr char kPasses[] =
    "function(sroa,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "adce)";

struct Module {
  decltype(&encore_codegen_compile) compile = nullptr;
  decltype(&encore_codegen_free) free = nullptr;
};

// Looks at one place after the other, and no further than the first that has
// the module.
class Search {
 public:
  bool Run() {
    if (const char* path = std::getenv("ENCORE_CODEGEN")) return Try(path);
    for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
      const char* root = std::getenv(variable);
      if (root != nullptr && TryRunfiles(root)) return true;
    }
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return false;
    if (TryRunfiles(program.string() + ".runfiles")) return true;
    const fs::path folder = program.parent_path();
    if (Try(folder / kLibrary)) return true;
    for (fs::path up = folder; up.has_relative_path(); up = up.parent_path()) {
      if (TryRepository(up)) return true;
    }
    return false;
  }

  const fs::path& found() const { return found_; }
  const std::vector<std::string>& places() const { return places_; }

 private:
  bool Try(const fs::path& place) {
    places_.push_back(place.string());
    std::error_code error;
    if (!fs::exists(place, error)) return false;
    found_ = place;
    return true;
  }
  bool TryRepository(const fs::path& folder) {
    return Try(folder / kFolder / kLibrary) ||
           Try(folder / "external/encore" / kFolder / kLibrary);
  }
  // `root`/<repository>/backends/cpu/codegen/<library>, whatever the
  // repository.
  bool TryRunfiles(const fs::path& root) {
    if (Try(root / "encore" / kFolder / kLibrary)) return true;
    std::error_code error;
    for (fs::directory_iterator entry(root, error), end; !error && entry != end;
         entry.increment(error)) {
      if (TryRepository(entry->path())) return true;
    }
    return false;
  }

  fs::path found_;
  std::vector<std::string> places_;
};

// The module's file, as it is when first asked for.
struct ModuleFile {
  Search search;
  bool found = false;
  std::string id;
};

std::string IdOf(const fs::path& path) {
  const LibraryFile file = ReadLibraryFile(path.string());
  const std::string_view version =
      file.Note(ENCORE_CODEGEN_NOTE_OWNER, ENCORE_CODEGEN_NOTE_TYPE);
  return StrCat(version.empty() ? "unknown" : version, " ", file.id);
}

const ModuleFile& TheFile() {
  static const auto* const file = [] {
    auto* found = new ModuleFile;
    found->found = found->search.Run();
    found->id = found->found ? IdOf(found->search.found()) : "none";
    return found;
  }();
  return *file;
}

StatusOr<Module> OpenModule() {
  const ModuleFile& file = TheFile();
  if (!file.found) {
    return NotFoundError(StrCat(
        "the code generator ", kLibrary,
        " is not there; it belongs beside the program, or ENCORE_CODEGEN says "
        "where it is. Looked for: ",
        StrJoin(file.search.places(), ", ")));
  }
  const fs::path& path = file.search.found();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailedPreconditionError(
        StrCat("the code generator cannot be loaded: ", dlerror()));
  }
  // The key of what is compiled names the one that was looked at.
  if (IdOf(path) != file.id) {
    return FailedPreconditionError(
        StrCat(path.string(),
               " has been replaced since the program started; start it "
               "again"));
  }
  const auto abi = reinterpret_cast<decltype(&encore_codegen_abi)>(
      dlsym(library, "encore_codegen_abi"));
  Module module;
  module.compile = reinterpret_cast<decltype(module.compile)>(
      dlsym(library, "encore_codegen_compile"));
  module.free = reinterpret_cast<decltype(module.free)>(
      dlsym(library, "encore_codegen_free"));
  if (abi == nullptr || abi() != ENCORE_CODEGEN_ABI || !module.compile ||
      !module.free) {
    return FailedPreconditionError(
        StrCat(path.string(), " is not the code generator of this release"));
  }
  return module;
}

const StatusOr<Module>& TheModule() {
  static const auto* const module = new StatusOr<Module>(OpenModule());
  return *module;
}

// What the code generator makes of one module.
StatusOr<std::string> CompileOne(const Module& generator,
                                 const std::string& text, Isa isa,
                                 bool assembly) {
  EncoreCodegenRequest request = {};
  request.cpu = isa == Isa::kAvx512 ? "x86-64-v4" : "x86-64-v3";
  request.features = isa == Isa::kAvx512 ? "-prefer-256-bit" : "";
  request.passes = kPasses;
  request.module = text.data();
  request.module_size = text.size();
  request.emit_assembly = assembly;
  EncoreCodegenResult result = {};
  const int code = generator.compile(&request, &result);
  const std::unique_ptr<EncoreCodegenResult, decltype(generator.free)> freed(
      &result, generator.free);
  if (code == kEncoreCodegenNoMemory) return NoMemoryToCompile();
  const std::string_view made(result.data, result.size);
  if (code == kEncoreCodegenOk) return std::string(made);
  return InternalError(StrCat("generated code: ", made));
}

StatusOr<Module> GeneratorFor(Isa isa) {
  if (isa == Isa::kNone) {
    return FailedPreconditionError(
        "this CPU has no AVX2 and FMA, which generated code needs");
  }
  return TheModule();
}

}  // namespace

Status NoMemoryToCompile() {
  return ResourceExhaustedError(
      "memory ran out while kernels were compiled; fewer threads need less of "
      "it");
}

StatusOr<std::vector<std::string>> CompileObjects(
    std::span<const std::string> modules, Isa isa, int threads) {
  ENCORE_ASSIGN_OR_RETURN(const Module generator, GeneratorFor(isa));
  std::vector<StatusOr<std::string>> made(modules.size(), NoMemoryToCompile());
  // Long ones first: a thread that gets one last works on when all others are
  // done.
  std::vector<size_t> order(modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [&](size_t i) {
    return std::pair(modules[i].size(), modules.size() - i);
  });
  ForEachOnThreads(modules.size(), threads, [&](size_t i) {
    const size_t number = order[i];
    try {
      made[number] =
          CompileOne(generator, modules[number], isa, /*assembly=*/false);
    } catch (const std::bad_alloc&) {
      // It stays without memory.
    }
  });
  std::vector<std::string> objects;
  for (StatusOr<std::string>& object : made) {
    ENCORE_RETURN_IF_ERROR(object.status());
    objects.push_back(*std::move(object));
  }
  return objects;
}

StatusOr<std::string> CompileToAssembly(const std::string& module, Isa isa) {
  ENCORE_ASSIGN_OR_RETURN(const Module generator, GeneratorFor(isa));
  return CompileOne(generator, module, isa, /*assembly=*/true);
}

const std::string& CodegenId() { return TheFile().id; }

}  // namespace encore::backends::cpu
