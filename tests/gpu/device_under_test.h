// What the programs for GPUs run on: device 0 of the target "cuda", unless
// --target says another one that the command line knows.
#ifndef ENCORE_TESTS_GPU_DEVICE_UNDER_TEST_H_
#define ENCORE_TESTS_GPU_DEVICE_UNDER_TEST_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::gpu {

// Exit codes: of what ran, of wrong arguments, and where the device is absent,
// so that nothing ran.
inline constexpr int kExitPassed = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitWrongArguments = 2;
inline constexpr int kExitNoDevice = 77;

// The value of an argument --NAME=VALUE, which is then taken out of
// `arguments`; nothing where there is none.
std::optional<std::string> TakeArgument(const std::string& name,
                                        std::vector<char*>* arguments);

// The target's device, or why it is not there. While a program has it the
// devices that it makes beside are of one context, which takes a driver a
// quarter of a second to make.
StatusOr<std::unique_ptr<runtime::Device>> OpenDevice(
    const std::string& target);

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_DEVICE_UNDER_TEST_H_
