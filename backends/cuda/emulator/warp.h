// The state of a warp, its block and their launch, as instructions see it.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_WARP_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_WARP_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/clock.h"
#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/backends/cuda/emulator/memory.h"
#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

struct Block;

// A small generator (xorshift64*), so that results do not depend on a library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // Below `limit`, which is not 0.
  uint64_t Below(uint64_t limit) { return (Next() >> 16) % limit; }

 private:
  uint64_t state_;
};

// What a launch shares between its blocks.
struct LaunchState {
  LaunchState(const Program& program_in, const LaunchConfig& config_in,
              const LaunchOptions& options_in)
      : program(program_in),
        config(config_in),
        options(options_in),
        random(options_in.seed) {}

  const Program& program;
  const LaunchConfig& config;
  const LaunchOptions& options;
  Random random;
  GlobalMemory memory;
  Counters counters;
  Status status;  // the first violation
  bool failed = false;
  uint32_t warps_per_block = 0;
  // What was released to a location, by address (generic; of shared memory with
  // the number of the block + 1, else 0).
  std::map<std::pair<uint64_t, uint64_t>, EpochMap> released;
};

// A copy by cp.async that was issued.
struct PendingCopy {
  uint64_t to = 0;  // in shared memory
  uint32_t bytes = 0;
  uint32_t line = 0;
  std::array<std::byte, 16> data = {};
};

// Why a lane does not run.
enum class Wait : uint8_t {
  kNone,
  kConverge,  // at an aligned instruction, for all lanes
  kMembers,   // at a .sync instruction, for the lanes of its mask
  kBarrier,   // behind a barrier of the block, for other warps
};

class Warp {
 public:
  // Begins the warp of `block_in` whose first thread has that number.
  void Reset(Block& block_in, uint32_t index_in);

  uint32_t Slot(const Instruction& i, uint32_t operand) const {
    return program->operands[i.first_operand + operand];
  }
  bool HasOperand(const Instruction& i, uint32_t operand) const {
    return Slot(i, operand) != kNoSlot;
  }
  // The 32 lanes of an operand; a written one is a register.
  const uint64_t* Source(const Instruction& i, uint32_t operand) const {
    const uint32_t slot = Slot(i, operand);
    if (slot >= kConstantSlot) {
      return program->constants[slot - kConstantSlot].data();
    }
    return &registers[size_t{slot} * 32];
  }
  uint64_t* Destination(const Instruction& i, uint32_t operand) {
    return &registers[size_t{Slot(i, operand)} * 32];
  }
  uint64_t* Register(uint32_t slot) { return &registers[size_t{slot} * 32]; }

  // Records a violation by a lane; the first one ends the launch.
  void Fail(const Instruction& i, uint32_t lane, std::string_view message);
  // "thread (3, 0, 0) of block (1, 0, 0)"
  std::string ThreadName(uint32_t lane) const;

  uint32_t runnable() const { return live & ~waiting; }
  // Lanes that wait for lanes of the warp, not for other warps.
  uint32_t WaitingForLanes() const {
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const bool waits_for_lanes =
          waits[lane] == Wait::kConverge || waits[lane] == Wait::kMembers;
      mask |= (waits_for_lanes ? 1u : 0u) << lane;
    }
    return mask & waiting;
  }

  const Program* program = nullptr;
  LaunchState* launch = nullptr;
  Block* block = nullptr;
  uint32_t index = 0;  // in its block
  uint32_t threads = 0;
  std::vector<uint64_t> registers;  // slot by slot, 32 lanes each
  uint32_t carry = 0;               // of add.cc, by lane
  std::array<uint32_t, 32> pcs = {};
  uint32_t live = 0;
  uint32_t waiting = 0;
  std::array<Wait, 32> waits = {};
  // Lanes that did something while others waited for lanes of the warp.
  uint32_t astray = 0;
  bool ready = false;  // is in the scheduler's list
  // Local memory, lane by lane; empty until it is used.
  std::vector<std::byte> local;
  std::array<std::vector<PendingCopy>, 32> open_copies;
  std::array<std::vector<std::vector<PendingCopy>>, 32> copy_groups;
  Clock clock;
  std::unique_ptr<EpochMap> fenced;    // what a fence made ready to publish
  std::unique_ptr<EpochMap> acquired;  // what a fence will make known
};

// A barrier of a block.
struct Barrier {
  struct Arrival {
    uint32_t warp = 0;
    uint32_t lanes = 0;
    bool waits = false;
    const Instruction* reduction = nullptr;
  };
  std::vector<Arrival> arrivals;
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // 0: all threads that have not exited
  // Of bar.red: threads that brought a predicate, and a true one.
  uint32_t asked_threads = 0;
  uint32_t true_threads = 0;
};

// An mbarrier that is to be told when a lane's copies have arrived.
struct DeferredArrival {
  uint32_t warp = 0;
  uint32_t lane = 0;
  uint64_t address = 0;
  bool counts = false;  // .noinc
  std::vector<PendingCopy> copies;
  uint32_t line = 0;
};

struct Block {
  std::array<uint32_t, 3> position = {};
  uint64_t number = 0;  // in the grid, from 0
  LaunchState* launch = nullptr;
  std::vector<Warp> warps;
  std::vector<std::byte> shared_bytes;
  Region shared;
  std::array<Barrier, 16> barriers;
  std::vector<DeferredArrival> deferred;
  uint32_t live_threads = 0;
};

// Lanes of a mask, lowest first.
template <typename Visit>
void ForEachLane(uint32_t mask, Visit visit) {
  if (mask == 0xffffffffu) {
    for (uint32_t lane = 0; lane < 32; ++lane) visit(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) {
    visit(static_cast<uint32_t>(std::countr_zero(mask)));
  }
}

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_WARP_H_
