// Memory: the address spaces of an emulated device and of pinned host memory.
//
// Addresses come from two reserved ranges, below those that the emulator gives
// to other spaces, and are not given out again for long. Device memory has its
// bytes elsewhere: at its address the host faults, whatever it does. Pinned
// memory is at its address for both. Fresh memory is filled with a pattern that
// is no sensible number. Not thread-safe.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_MEMORY_H_
#define ENCORE_BACKENDS_CUDA_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/cuda/emulator/program.h"

namespace encore::backends::cuda::fake {

class Memory {
 public:
  // Of each byte of fresh memory.
  static constexpr std::byte kPoison{0xcb};

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Memory of device `owner`; of the host, pinned, where that is kHost. Its
  // address is a multiple of 4096. Nothing where there is no room.
  static constexpr int kHost = -1;
  std::optional<uint64_t> Allocate(uint64_t bytes, int owner);
  // Addresses without bytes, never given back.
  std::optional<uint64_t> Reserve(uint64_t bytes);
  // False where that is not what Allocate returned for the owner's kind.
  bool Free(uint64_t address, bool host);

  // The bytes behind [address, address + bytes); null where they are not all in
  // one block that is not given back. Sets *owner where that is not null.
  std::byte* Find(uint64_t address, uint64_t bytes, int* owner);
  // Whether the address is one of pinned memory, in use or not.
  bool IsPinned(uint64_t address) const { return host_.Contains(address); }

  // What a kernel on device `owner` may use.
  std::vector<ptx::Allocation> Visible(int owner) const;

  uint64_t used(int owner) const;
  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  struct Range {
    uint64_t begin = 0, bytes = 0;
    uint64_t next = 0, end = 0;  // where blocks may lie
    bool Contains(uint64_t at) const { return at - begin < bytes; }
  };
  struct Block {
    std::byte* data = nullptr;
    uint64_t bytes = 0, mapped = 0;
    int owner = 0;
  };

  static Range ReserveRange();
  // Addresses of the range that no block has.
  std::optional<uint64_t> TakeAddress(Range& range, uint64_t bytes);

  Range device_, host_;
  std::map<uint64_t, Block> blocks_;
};

}  // namespace encore::backends::cuda::fake

#endif  // ENCORE_BACKENDS_CUDA_FAKE_MEMORY_H_
