// The text that every program of generated kernels begins with: C++ for
// devices, with a row for each dtype. Its parts lie in device/.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_

#include <string>
#include <string_view>

namespace encore::backends::cuda {

// The parts as they lie there, one after the other.
std::string_view DeviceLibraryText();

// What a program with these functions begins with: the parts, and the rows of
// the dtypes that the functions mention. Time to compile is what rows cost.
std::string DeviceLibraryFor(std::string_view functions);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_DEVICE_LIBRARY_H_
