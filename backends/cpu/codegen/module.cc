// The only file of Encore's CPU backend that sees LLVM.
#include "encore/backends/cpu/codegen/module.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"

namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

// As the linker wants a note to be. A sanitizer's padding would be part of it.
struct Note {
  uint32_t owner_bytes = sizeof(owner);
  uint32_t text_bytes = sizeof(text);
  uint32_t type = ENCORE_CODEGEN_NOTE_TYPE;
  alignas(4) char owner[sizeof(ENCORE_CODEGEN_NOTE_OWNER)] =
      ENCORE_CODEGEN_NOTE_OWNER;
  alignas(4) char text[sizeof(LLVM_VERSION_STRING)] = LLVM_VERSION_STRING;
};
[[gnu::section(".note.encore.llvm"), gnu::used,
  clang::no_sanitize("address")]] constexpr Note kNote;

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

// A target machine, for all that is compiled for one CPU, one module at a time:
// half a millisecond to make, with its tables, where a small kernel takes
// three.
struct Machine {
  std::string cpu, features;
  std::unique_ptr<llvm::TargetMachine> target;
};

// Machines that nobody compiles with, as many as were in use at once. No
// thread_local: where memory is short, its destructor cannot be registered, and
// the C library ends the process.
class IdleMachines {
 public:
  // One of these, or a new one; without a target where that cannot be made.
  Machine Take(const EncoreCodegenRequest& request, std::string* error) {
    {
      const std::lock_guard lock(mutex_);
      for (Machine& idle : machines_) {
        if (idle.cpu != request.cpu || idle.features != request.features) {
          continue;
        }
        std::swap(idle, machines_.back());
        Machine machine = std::move(machines_.back());
        machines_.pop_back();
        return machine;
      }
    }
    return {request.cpu, request.features, NewTargetMachine(request, error)};
  }
  void Give(Machine machine) {
    const std::lock_guard lock(mutex_);
    machines_.push_back(std::move(machine));
  }

 private:
  std::mutex mutex_;
  std::vector<Machine> machines_;
};

// Outlives all threads that compile.
IdleMachines& TheIdleMachines() {
  static IdleMachines& machines = *new IdleMachines;
  return machines;
}

// Loop strength reduction of loops with few accesses to memory. What it takes
// grows much faster than these, and a long body spreads the cost of an address
// over more work: on all loops it was a quarter of the time to generate code.
class ReduceShortLoops : public llvm::PassInfoMixin<ReduceShortLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Loop& loop,
                              llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results,
                              llvm::LPMUpdater& updater) {
    int accesses = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        accesses += instruction.mayReadOrWriteMemory() ? 1 : 0;
      }
    }
    if (accesses > kMostAccesses) return llvm::PreservedAnalyses::all();
    return llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
  }

 private:
  static constexpr int kMostAccesses = 24;
};

// One module on its way. All that LLVM builds is a member, so that nothing of
// it is taken apart where memory runs out in the middle.
class Compilation {
 public:
  explicit Compilation(const EncoreCodegenRequest& request)
      : request_(request) {}

  Outcome Run() {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(
        llvm::StringRef(request_.module, request_.module_size), diagnostic,
        context_);
    if (module_ == nullptr) return Failure(Describe(diagnostic));
    std::string error;
    llvm::raw_string_ostream error_stream(error);
    if (llvm::verifyModule(*module_, &error_stream)) return Failure(error);
    machine_ = TheIdleMachines().Take(request_, &error);
    if (machine_.target == nullptr) return Failure(error);
    module_->setTargetTriple(kTriple);
    module_->setDataLayout(machine_.target->createDataLayout());
    if (llvm::Error problem = Optimize()) {
      return Failure(llvm::toString(std::move(problem)));
    }
    return Emit();
  }

  Machine TakeMachine() { return std::move(machine_); }

 private:
  struct Optimizer {
    explicit Optimizer(llvm::TargetMachine* machine) : builder(machine) {
      builder.registerModuleAnalyses(modules);
      builder.registerCGSCCAnalyses(components);
      builder.registerFunctionAnalyses(functions);
      builder.registerLoopAnalyses(loops);
      builder.crossRegisterProxies(loops, functions, components, modules);
    }
    llvm::PassBuilder builder;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::ModulePassManager passes;
  };

  llvm::Error Optimize() {
    optimizer_ = std::make_unique<Optimizer>(machine_.target.get());
    if (llvm::Error error = optimizer_->builder.parsePassPipeline(
            optimizer_->passes, request_.passes)) {
      return error;
    }
    optimizer_->passes.addPass(llvm::createModuleToFunctionPassAdaptor(
        llvm::createFunctionToLoopPassAdaptor(ReduceShortLoops())));
    optimizer_->passes.run(*module_, optimizer_->modules);
    optimizer_.reset();
    return llvm::Error::success();
  }

  Outcome Emit() {
    const auto kind = request_.emit_assembly
                          ? llvm::CodeGenFileType::AssemblyFile
                          : llvm::CodeGenFileType::ObjectFile;
    if (machine_.target->addPassesToEmitFile(emitter_, stream_, nullptr,
                                             kind)) {
      return Failure("the target cannot emit this kind of file");
    }
    emitter_.run(*module_);
    return {true, std::string(object_.begin(), object_.end())};
  }

  const EncoreCodegenRequest& request_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  Machine machine_;
  std::unique_ptr<Optimizer> optimizer_;
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream stream_{object_};
  llvm::legacy::PassManager emitter_;
};

// Code generation has a pass of its own for all loops; ReduceShortLoops is in
// its place.
void LeaveLoopsToUs() {
  llvm::cl::Option* const option =
      llvm::cl::getRegisteredOptions().lookup("disable-lsr");
  if (option == nullptr) llvm::report_fatal_error("no option disable-lsr");
  static_cast<llvm::cl::opt<bool>*>(option)->setValue(true);
}

void Initialize() {
  static const bool initialized = [] {
    // This LLVM is the module's own. Where it would abort for lack of memory:
    llvm::install_bad_alloc_error_handler(
        [](void*, const char*, bool) { throw std::bad_alloc(); });
    LeaveLoopsToUs();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
}

// Nothing is deleted or used again where Run throws: it may be half done.
Outcome Compile(const EncoreCodegenRequest& request) {
  Initialize();
  auto* const compilation = new Compilation(request);
  Outcome outcome = compilation->Run();
  Machine machine = compilation->TakeMachine();
  delete compilation;  // its passes look at the machine
  if (machine.target != nullptr) TheIdleMachines().Give(std::move(machine));
  return outcome;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int encore_codegen_abi(void) {
  return ENCORE_CODEGEN_ABI;
}

__attribute__((visibility("default"))) int encore_codegen_compile(
    const EncoreCodegenRequest* request, EncoreCodegenResult* result) {
  *result = {};
  try {
    const Outcome outcome = Compile(*request);
    result->data = new char[outcome.text.size()];
    result->size = outcome.text.size();
    std::memcpy(result->data, outcome.text.data(), outcome.text.size());
    return outcome.ok ? kEncoreCodegenOk : kEncoreCodegenFault;
  } catch (const std::bad_alloc&) {
    return kEncoreCodegenNoMemory;
  }
}

__attribute__((visibility("default"))) void encore_codegen_free(
    EncoreCodegenResult* result) {
  delete[] result->data;
  *result = {};
}
}
