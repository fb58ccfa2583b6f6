// What is known of each byte of a piece of memory: whether it was written,
// whether an asynchronous copy is on its way to it, and who used it last.
//
// Accesses are kept per word, or per byte or half word where a page of the
// memory is accessed in such pieces. Kept are the last write and two reads
// since then, one of each of two warps; of more concurrent readers, later ones
// take the second place, so that of many racing readers one is named, and a
// write that races only with a reader that lost its place is not seen.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_SHADOW_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_SHADOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "encore/backends/cuda/emulator/clock.h"

namespace encore::ptx {

// Who accesses.
struct Accessor {
  const Clock* clock = nullptr;
  uint32_t lane = 0;
  uint32_t line = 0;
  // Atomics and volatile, relaxed, acquire and release accesses: two of them do
  // not race where each one's scope has the other's thread.
  bool strong = false;
  bool block_scope = false;
};

// An earlier access that is not ordered with the one at hand.
struct Race {
  bool earlier_was_write = false;
  uint32_t warp = 0;  // of the grid
  uint32_t lane = 0;
  uint32_t line = 0;
};

class Shadow {
 public:
  // `initialized`: of all bytes at first. Bytes are not followed one by one
  // where `follow_bytes` is false: all then count as initialized.
  void Reset(uint64_t bytes, bool follow_bytes, bool initialized);

  // REQUIRES ranges within the memory.
  std::optional<Race> Read(uint64_t offset, uint64_t bytes,
                           const Accessor& who);
  std::optional<Race> Write(uint64_t offset, uint64_t bytes,
                            const Accessor& who);

  // The first byte that was never written.
  std::optional<uint64_t> FirstUninitialized(uint64_t offset,
                                             uint64_t bytes) const;
  void MarkInitialized(uint64_t offset, uint64_t bytes);
  // Bytes that a copy will write.
  bool AnyInFlight(uint64_t offset, uint64_t bytes) const;
  void SetInFlight(uint64_t offset, uint64_t bytes, bool in_flight);

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint32_t kNobody = 0;  // else the warp's number + 1

  struct LastWrite {
    uint32_t warp = kNobody;
    uint32_t epoch = 0;
    uint32_t line = 0;
    uint8_t lane = 0;
    bool strong = false;
    bool block_scope = false;
  };
  struct LastRead {
    uint32_t warp = kNobody;
    uint32_t epoch = 0;
    uint32_t line = 0;
    uint32_t lanes = 0;
    bool strong = false;
    bool block_scope = false;
  };
  struct Cell {
    LastWrite write;
    std::array<LastRead, 2> reads;
  };
  struct Page {
    int shift = 2;  // a cell has 1 << shift bytes
    std::vector<Cell> cells;
  };

  template <typename Visit>
  std::optional<Race> VisitCells(uint64_t offset, uint64_t bytes, Visit visit);
  Page& PageFor(uint64_t offset, uint64_t bytes);
  static std::optional<Race> Against(const LastWrite& write,
                                     const Accessor& who);
  static std::optional<Race> Against(const LastRead& read, const Accessor& who);
  static void Note(Cell& cell, const Accessor& who);

  uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<uint8_t> states_;  // a byte of flags for each; or none
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_SHADOW_H_
