// The only file of Encore's CPU backend that sees LLVM.
#include "llvm/IR/Module.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "encore/backends/cpu/codegen/module_abi.h"
#include "lld/Common/Driver.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

LLD_HAS_DRIVER(elf)

namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

// Text is a result's bytes or what went wrong.
struct Outcome {
  bool ok = false;
  std::string text;
};

Outcome Failure(const llvm::Twine& message) { return {false, message.str()}; }

std::string Describe(const llvm::SMDiagnostic& diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostic.print("generated code", stream, /*ShowColors=*/false);
  return text;
}

std::unique_ptr<llvm::TargetMachine> NewTargetMachine(
    const EncoreCodegenRequest& request, std::string* error) {
  const llvm::Target* target =
      llvm::TargetRegistry::lookupTarget(kTriple, *error);
  if (target == nullptr) return nullptr;
  llvm::TargetOptions options;
  // No hidden fusion: what is to be fused says so with llvm.fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, request.cpu, request.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

llvm::Error Optimize(llvm::Module& module, llvm::TargetMachine& machine,
                     llvm::StringRef passes) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  if (llvm::Error error = builder.parsePassPipeline(manager, passes)) {
    return error;
  }
  manager.run(module, modules);
  return llvm::Error::success();
}

Outcome CompileModule(const EncoreCodegenRequest& request,
                      const EncoreCodegenText& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      llvm::StringRef(text.data, text.size), diagnostic, context);
  if (module == nullptr) return Failure(Describe(diagnostic));
  std::string error;
  llvm::raw_string_ostream error_stream(error);
  if (llvm::verifyModule(*module, &error_stream)) return Failure(error);
  const auto machine = NewTargetMachine(request, &error);
  if (machine == nullptr) return Failure(error);
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  if (llvm::Error problem = Optimize(*module, *machine, request.passes)) {
    return Failure(llvm::toString(std::move(problem)));
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  const auto kind = request.emit_assembly ? llvm::CodeGenFileType::AssemblyFile
                                          : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, kind)) {
    return Failure("the target cannot emit this kind of file");
  }
  emitter.run(*module);
  return {true, std::string(object.begin(), object.end())};
}

// A file in memory with a path that the linker can open.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes)
      : descriptor_(memfd_create("encore", MFD_CLOEXEC)) {
    while (ok() && !bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) {
        Close();
        return;
      }
      bytes.remove_prefix(written);
    }
  }
  ~MemoryFile() { Close(); }
  MemoryFile(MemoryFile&& other) : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }

  bool ok() const { return descriptor_ >= 0; }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  void Close() {
    if (ok()) close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_;
};

Outcome ReadAll(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr) return Failure("the linker wrote no image");
  std::string bytes;
  char buffer[1 << 16];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), file)) {
    bytes.append(buffer, size);
  }
  const bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) return Failure("the image cannot be read back");
  return {true, std::move(bytes)};
}

Outcome RunLinker(const std::vector<std::string>& inputs) {
  static std::mutex mutex;  // the linker has global state
  const std::lock_guard<std::mutex> lock(mutex);
  // The linker renames a finished file to its output, so that needs a folder.
  char folder[] = "/tmp/encore-link-XXXXXX";
  if (mkdtemp(folder) == nullptr) return Failure("no temporary folder");
  const std::string output = std::string(folder) + "/image";
  std::vector<std::string> words = {
      "ld.lld",          "-shared",           "-nostdlib",
      "-Bsymbolic",      "--hash-style=sysv", "--no-rosegment",
      "--strip-all",     "--no-undefined",    "--gc-sections",
      "--build-id=none", "--threads=1"};
  for (const char* option : {"noseparate-code", "norelro", "rodynamic", "defs",
                             "text", "max-page-size=4096"}) {
    words.insert(words.end(), {"-z", option});
  }
  words.insert(words.end(), {"-o", output});
  words.insert(words.end(), inputs.begin(), inputs.end());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  Outcome outcome = result.retCode == 0
                        ? ReadAll(output.c_str())
                        : Failure("linking failed: " + messages);
  unlink(output.c_str());
  rmdir(folder);
  return outcome;
}

Outcome Link(const std::vector<Outcome>& objects) {
  std::vector<MemoryFile> files;
  std::vector<std::string> paths;
  for (const Outcome& object : objects) {
    files.emplace_back(object.text);
    if (!files.back().ok()) return Failure("no memory for an object file");
    paths.push_back(files.back().path());
  }
  return RunLinker(paths);
}

Outcome Compile(const EncoreCodegenRequest& request) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  std::vector<Outcome> objects(request.module_count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < objects.size();) {
      objects[i] = CompileModule(request, request.modules[i]);
    }
  };
  std::vector<std::thread> helpers;
  const size_t threads =
      std::min<size_t>(std::max(request.threads, 1), objects.size());
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  Outcome assembly{true, ""};
  for (const Outcome& object : objects) {
    if (!object.ok) return object;
    if (request.emit_assembly) assembly.text += object.text;
  }
  return request.emit_assembly ? assembly : Link(objects);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int encore_codegen_abi(void) {
  return ENCORE_CODEGEN_ABI;
}

__attribute__((visibility("default"))) const char* encore_codegen_version(
    void) {
  return LLVM_VERSION_STRING;
}

__attribute__((visibility("default"))) int encore_codegen_compile(
    const EncoreCodegenRequest* request, EncoreCodegenResult* result) {
  const Outcome outcome = Compile(*request);
  result->size = outcome.text.size();
  result->data = new char[outcome.text.size() + 1];
  std::memcpy(result->data, outcome.text.c_str(), outcome.text.size() + 1);
  return outcome.ok ? 0 : 1;
}

__attribute__((visibility("default"))) void encore_codegen_free(
    EncoreCodegenResult* result) {
  delete[] result->data;
  result->data = nullptr;
}
}
