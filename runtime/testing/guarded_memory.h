// GuardedMemory: memory of a device that only the device may touch.
//
// Every block is mapped twice: at the address that is given out, where any
// access faults, and elsewhere for the device itself. Fresh memory is filled
// with a pattern that is no sensible number. What is given back has no device
// side any more, and its address is not given out again for long. Thread-safe.
#ifndef ENCORE_RUNTIME_TESTING_GUARDED_MEMORY_H_
#define ENCORE_RUNTIME_TESTING_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "encore/ir/support/status.h"

namespace encore::runtime {

class GuardedMemory {
 public:
  // Of each byte of fresh memory.
  static constexpr uint8_t kPoison = 0xcb;

  GuardedMemory() = default;
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // Aligned to kAlignment; the byte behind the last multiple of that faults for
  // the device, too. ResourceExhausted where there is none.
  StatusOr<void*> Allocate(int64_t bytes);
  // REQUIRES what Allocate returned.
  void Deallocate(void* data);

  // Where the device itself finds bytes [data, data + bytes). Internal where
  // they are not all in one block that is not given back.
  StatusOr<void*> DeviceSide(const void* data, int64_t bytes) const;

  int64_t live_blocks() const;

 private:
  struct Block {
    std::byte* own = nullptr;  // the device's mapping
    int64_t mapped = 0;        // bytes of both mappings
    std::byte* given = nullptr;
    int64_t bytes = 0;
  };

  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;  // by the address given out
  std::deque<Block> given_back_;              // their addresses stay reserved
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_GUARDED_MEMORY_H_
