#include "encore/backends/cuda/codegen/device_compiler.h"

#include <dlfcn.h>

#include <type_traits>

#include "encore/backends/cpu/elf/library_file.h"
#include "encore/ir/support/library_places.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "nvrtc.h"

namespace encore::backends::cuda {
namespace {

constexpr char kVariable[] = "ENCORE_NVRTC";
constexpr char kRunfile[] = "nvrtc/lib/libnvrtc.so.13";
constexpr int kMajor = 13, kMinor = 0;

// X(name): nvrtc<name>.
#define ENCORE_NVRTC_FUNCTIONS(X) \
  X(GetErrorString)               \
  X(Version)                      \
  X(CreateProgram)                \
  X(DestroyProgram)               \
  X(CompileProgram)               \
  X(GetProgramLogSize)            \
  X(GetProgramLog)                \
  X(GetPTXSize)                   \
  X(GetPTX)                       \
  X(GetCUBINSize)                 \
  X(GetCUBIN)

// Of release 13.0.
constexpr Architecture kArchitectures[] = {
    {8, 0},        {8, 6},  {8, 7},        {8, 8},  {8, 9},        {9, 0},
    {9, 0, true},  {10, 0}, {10, 0, true}, {10, 3}, {10, 3, true}, {11, 0},
    {11, 0, true}, {12, 0}, {12, 0, true}, {12, 1}, {12, 1, true}};

struct Nvrtc {
#define ENCORE_NVRTC_FUNCTION(name) decltype(&nvrtc##name) name = nullptr;
  ENCORE_NVRTC_FUNCTIONS(ENCORE_NVRTC_FUNCTION)
#undef ENCORE_NVRTC_FUNCTION
};

// The library's file, as it is when first asked for.
struct NvrtcFile {
  std::string path;  // empty: none
  std::string version;
};

std::string VersionOf(const std::string& path) {
  return StrCat(kMajor, ".", kMinor, " ",
                path.empty() ? "none" : cpu::ReadLibraryFile(path).id);
}

const NvrtcFile& TheFile() {
  static const auto* const file = [] {
    auto* found = new NvrtcFile;
    found->path = FindLibrary(kVariable, kRunfile);
    found->version = VersionOf(found->path);
    return found;
  }();
  return *file;
}

StatusOr<const Nvrtc*> Load() {
  const std::string& path = TheFile().path;
  if (path.empty()) {
    return NotFoundError(
        StrCat("NVRTC ", kMajor, ".", kMinor,
               " is not there, which compiles kernels for cuda: "
               "libnvrtc.so.13 and libnvrtc-builtins.so.13.0 belong beside the "
               "program, or ",
               kVariable, " says where the former is"));
  }
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return FailedPreconditionError(
        StrCat("NVRTC cannot be loaded: ", dlerror()));
  }
  // Keys of what is compiled name the one that was looked at.
  if (VersionOf(path) != TheFile().version) {
    return FailedPreconditionError(StrCat(
        path, " has been replaced since the program started; start it again"));
  }
  auto* const library = new Nvrtc;
  bool complete = true;
  const auto bind = [&](auto& function, const char* name) {
    void* const symbol = dlsym(handle, name);
    complete &= symbol != nullptr;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
#define ENCORE_NVRTC_FUNCTION(name) bind(library->name, "nvrtc" #name);
  ENCORE_NVRTC_FUNCTIONS(ENCORE_NVRTC_FUNCTION)
#undef ENCORE_NVRTC_FUNCTION
  int major = 0, minor = 0;
  if (!complete || library->Version(&major, &minor) != NVRTC_SUCCESS ||
      major != kMajor || minor != kMinor) {
    return FailedPreconditionError(StrCat(path, " is NVRTC ", major, ".", minor,
                                          ", wanted is ", kMajor, ".", kMinor));
  }
  return library;
}

StatusOr<const Nvrtc*> Library() {
  static const auto* const library = new StatusOr<const Nvrtc*>(Load());
  return *library;
}

// A program, destroyed in the end.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.DestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Status Compile(const std::string& source, const std::string& architecture) {
    ENCORE_RETURN_IF_ERROR(ToStatus(nvrtc_.CreateProgram(
        &program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr)));
    const std::string target = StrCat("-arch=", architecture);
    // minimal: without the declarations of textures, half headers and the like.
    const char* const options[] = {target.c_str(), "-minimal", "-std=c++17",
                                   "-diag-suppress=177",
                                   "--ptxas-options=--warn-on-spills"};
    const nvrtcResult result =
        nvrtc_.CompileProgram(program_, std::size(options), options);
    if (result == NVRTC_SUCCESS) return OkStatus();
    const StatusOr<std::string> log =
        Text(nvrtc_.GetProgramLogSize, nvrtc_.GetProgramLog);
    return InternalError(StrCat("NVRTC: ", nvrtc_.GetErrorString(result), "\n",
                                log.ok() ? *log : ""));
  }

  // What a pair of functions gives: how many bytes, and these.
  StatusOr<std::string> Text(nvrtcResult (*size_of)(nvrtcProgram, size_t*),
                             nvrtcResult (*get)(nvrtcProgram, char*)) const {
    size_t size = 0;
    ENCORE_RETURN_IF_ERROR(ToStatus(size_of(program_, &size)));
    std::string text(size, '\0');
    if (size > 0) ENCORE_RETURN_IF_ERROR(ToStatus(get(program_, text.data())));
    return text;
  }

 private:
  Status ToStatus(nvrtcResult result) const {
    if (result == NVRTC_SUCCESS) return OkStatus();
    return InternalError(StrCat("NVRTC: ", nvrtc_.GetErrorString(result)));
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

// Without the zero that ends a text of C.
std::string Unterminated(std::string text) {
  if (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

const std::string& NvrtcVersion() { return TheFile().version; }

std::span<const Architecture> KnownArchitectures() { return kArchitectures; }

uint32_t NvrtcDriver() { return kMajor * 1000 + kMinor * 10; }

StatusOr<DeviceCode> CompileDeviceCode(const std::string& source,
                                       const Architecture& architecture,
                                       bool ptx_only) {
  ENCORE_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Library());
  Program program(*nvrtc);
  std::string name = Name(architecture);
  if (ptx_only) name = StrCat("compute_", name.substr(name.find('_') + 1));
  ENCORE_RETURN_IF_ERROR(program.Compile(source, name));
  DeviceCode code;
  ENCORE_ASSIGN_OR_RETURN(std::string ptx,
                          program.Text(nvrtc->GetPTXSize, nvrtc->GetPTX));
  code.ptx = Unterminated(std::move(ptx));
  ENCORE_ASSIGN_OR_RETURN(
      std::string log,
      program.Text(nvrtc->GetProgramLogSize, nvrtc->GetProgramLog));
  code.log = Unterminated(std::move(log));
  if (ptx_only) return code;
  ENCORE_ASSIGN_OR_RETURN(const std::string cubin,
                          program.Text(nvrtc->GetCUBINSize, nvrtc->GetCUBIN));
  const auto bytes = std::as_bytes(std::span(cubin));
  code.cubin.assign(bytes.begin(), bytes.end());
  return code;
}

}  // namespace encore::backends::cuda
