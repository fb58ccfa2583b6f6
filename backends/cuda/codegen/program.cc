#include "encore/backends/cuda/codegen/program.h"

#include <new>
#include <utility>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/device_library.h"
#include "encore/ir/support/each_on_threads.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr size_t kNameDigits = 16;

}  // namespace

std::string KernelProgram::Add(const std::string& function) {
  const std::string name =
      StrCat("k_", Sha256Of(function).ToHex().substr(0, kNameDigits));
  if (!names_.insert(name).second) return name;
  std::string text = function;
  text.replace(text.find(kEntryPlaceholder), kEntryPlaceholder.size(), name);
  functions_.insert(std::move(text));
  return name;
}

std::string KernelProgram::Text() const {
  std::string functions;
  for (const std::string& function : functions_) functions += function;
  return DeviceLibraryFor(functions) + functions;
}

StatusOr<std::vector<std::vector<std::byte>>> CompilePrograms(
    std::span<const std::string> texts,
    const std::vector<Architecture>& architectures, int threads) {
  const size_t variants = architectures.size();
  std::vector<StatusOr<DeviceCode>> codes(
      texts.size() * variants,
      ResourceExhaustedError("memory ran out while kernels were compiled"));
  ForEachOnThreads(codes.size(), threads, [&](size_t i) {
    try {
      codes[i] =
          CompileDeviceCode(texts[i / variants], architectures[i % variants]);
    } catch (const std::bad_alloc&) {
      // It stays as it is.
    }
  });
  std::vector<std::vector<std::byte>> files;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<ModuleImage> images;
    for (size_t k = 0; k < variants; ++k) {
      const StatusOr<DeviceCode>& code = codes[i * variants + k];
      ENCORE_RETURN_IF_ERROR(code.status());
      images.push_back({ModuleImage::Kind::kCubin, architectures[k],
                        NvrtcDriver(), code->cubin});
    }
    images.push_back({ModuleImage::Kind::kPtx, architectures[0], NvrtcDriver(),
                      std::as_bytes(std::span(codes[i * variants]->ptx))});
    files.push_back(EncodeModule(images));
  }
  return files;
}

}  // namespace encore::backends::cuda
