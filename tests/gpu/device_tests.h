// Tests of recordings and packages on the device under test.
#ifndef ENCORE_TESTS_GPU_DEVICE_TESTS_H_
#define ENCORE_TESTS_GPU_DEVICE_TESTS_H_

#include <string>

namespace encore::gpu {

// Where packages lie that WritePackages (packages.h) wrote elsewhere; empty:
// they are written first, to a folder of the test's. Before the tests run.
void SetPackageFolder(std::string folder);

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_DEVICE_TESTS_H_
