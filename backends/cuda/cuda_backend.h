// The CUDA backend: its compiler half. It needs neither a device nor a driver.
#ifndef ENCORE_BACKENDS_CUDA_CUDA_BACKEND_H_
#define ENCORE_BACKENDS_CUDA_CUDA_BACKEND_H_

#include "encore/backends/backend.h"

namespace encore::backends::cuda {

// Makes the devices that a backend's kernels run on.
using DeviceMaker =
    StatusOr<std::unique_ptr<runtime::Device>> (*)(uint32_t ordinal);

// The backend called `name`, whose NewDevice is `new_device`: "cuda", or
// another whose devices are other ones, which are then a part of its target.
std::unique_ptr<Backend> NewCudaBackend(DeviceMaker new_device,
                                        std::string_view name = "cuda");

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CUDA_BACKEND_H_
