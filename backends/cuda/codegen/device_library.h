// The text that every program of generated kernels begins with: C++ for
// devices, with a row for each dtype. Its parts lie in device/.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_

#include <string>
#include <string_view>

namespace encore::backends::cuda {

// The parts as they lie there, one after the other.
std::string_view DeviceLibraryText();

// The whole.
const std::string& DeviceLibrary();

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_
