// A device for tests: memory, a module, launches.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_DEVICE_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// An address on the device, as an argument of a kernel.
struct Buffer {
  uint64_t address = 0;
  size_t index = 0;
};

class TestDevice {
 public:
  // A failing parse or load fails each launch with that status.
  explicit TestDevice(std::string_view ptx);

  template <typename T>
  Buffer Add(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return AddBytes(std::move(bytes));
  }
  template <typename T>
  std::vector<T> Get(const Buffer& buffer) const {
    const std::vector<std::byte>& bytes = memory_[buffer.index];
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  // Launches; the arguments are laid out as the kernel's parameters.
  template <typename... Arguments>
  Status Run(std::string_view kernel, std::array<uint32_t, 3> grid,
             std::array<uint32_t, 3> block, Arguments... arguments) {
    parameters_.clear();
    (AddArgument(arguments), ...);
    return Launch(kernel, grid, block);
  }

  LaunchOptions& options() { return options_; }
  uint64_t& dynamic_shared_bytes() { return dynamic_shared_bytes_; }
  const Counters& counters() const { return counters_; }
  const LoadedModule* module() const { return module_.get(); }
  const Status& loaded() const { return loaded_; }
  // Of the allocation: whether reading it is fine before it is written.
  void SetUninitialized(const Buffer& buffer) {
    initialized_[buffer.index] = false;
  }

 private:
  Buffer AddBytes(std::vector<std::byte> bytes);
  void AddArgument(const Buffer& buffer) { AddArgument(buffer.address); }
  template <typename T>
  void AddArgument(T value) {
    parameters_.resize((parameters_.size() + sizeof(T) - 1) / sizeof(T) *
                       sizeof(T));
    const size_t at = parameters_.size();
    parameters_.resize(at + sizeof(T));
    std::memcpy(parameters_.data() + at, &value, sizeof(T));
  }
  Status Launch(std::string_view kernel, std::array<uint32_t, 3> grid,
                std::array<uint32_t, 3> block);

  Status loaded_;
  std::unique_ptr<LoadedModule> module_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<uint64_t> addresses_;
  std::vector<bool> initialized_;
  std::vector<std::byte> parameters_;
  LaunchOptions options_;
  uint64_t dynamic_shared_bytes_ = 0;
  Counters counters_;
  uint64_t next_ = 0x2'0000'0000;
};

// The text of testdata/<name>.
std::string ReadTestData(std::string_view name);

// A module around the body of a kernel called `test` with parameters
// `.param .u64 in, .param .u64 out`: registers %p, %rs, %r, %rd, %f and %d of
// 64 each, %rd0 the thread's number, %rd1 and %rd2 the two buffers as global
// addresses.
std::string ModuleOf(std::string_view body, std::string_view target = "sm_90a");

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_DEVICE_H_
