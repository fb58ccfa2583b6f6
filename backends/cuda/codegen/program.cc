#include "encore/backends/cuda/codegen/program.h"

#include <span>
#include <utility>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/device_library.h"
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
  std::string text = DeviceLibrary();
  for (const std::string& function : functions_) text += function;
  return text;
}

StatusOr<std::vector<std::byte>> CompileProgram(
    const KernelProgram& program,
    const std::vector<Architecture>& architectures) {
  const std::string text = program.Text();
  std::vector<DeviceCode> codes;
  std::vector<ModuleImage> images;
  for (const Architecture& architecture : architectures) {
    ENCORE_ASSIGN_OR_RETURN(codes.emplace_back(),
                            CompileDeviceCode(text, architecture));
  }
  for (size_t i = 0; i < codes.size(); ++i) {
    images.push_back({ModuleImage::Kind::kCubin, architectures[i],
                      NvrtcDriver(), codes[i].cubin});
  }
  if (!codes.empty()) {
    images.push_back({ModuleImage::Kind::kPtx, architectures[0], NvrtcDriver(),
                      std::as_bytes(std::span(codes[0].ptx))});
  }
  return EncodeModule(images);
}

}  // namespace encore::backends::cuda
