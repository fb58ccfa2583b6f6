#include "encore/backends/cuda/emulator/launch.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/backends/cuda/emulator/executor.h"
#include "encore/backends/cuda/emulator/warp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

uint64_t Product(const std::array<uint32_t, 3>& sizes) {
  return uint64_t{sizes[0]} * sizes[1] * sizes[2];
}

Status CheckConfig(const Program& program, const LaunchConfig& config,
                   const LaunchOptions& options) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgumentError(StrCat("launch of ", program.name, ": ", why));
  };
  const auto& block = config.block;
  const auto& grid = config.grid;
  const uint64_t threads = Product(block);
  if (threads == 0 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 ||
      threads > 1024) {
    return refuse(StrCat("a block of ", block[0], " x ", block[1], " x ",
                         block[2], " threads; 1 to 1024 are possible"));
  }
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 0x7fffffffu ||
      grid[1] > 65535 || grid[2] > 65535) {
    return refuse(StrCat("a grid of ", grid[0], " x ", grid[1], " x ", grid[2],
                         " blocks; 2147483647 x 65535 x 65535 are possible"));
  }
  const auto& required = program.required_threads;
  if (required[0] != 0 && required != block) {
    return refuse(StrCat(".reqntid says ", required[0], " x ", required[1],
                         " x ", required[2], " threads"));
  }
  if (program.most_threads != 0 && threads > program.most_threads) {
    return refuse(
        StrCat(threads, " threads, .maxntid says ", program.most_threads));
  }
  if (config.parameters.size() < program.parameter_bytes) {
    return refuse(StrCat(config.parameters.size(), " bytes of parameters, ",
                         program.parameter_bytes, " are needed"));
  }
  if (config.dynamic_shared_bytes > options.most_shared_bytes ||
      program.shared_bytes + config.dynamic_shared_bytes >
          options.most_shared_bytes) {
    return refuse(StrCat(program.shared_bytes, " + ",
                         config.dynamic_shared_bytes,
                         " bytes of shared memory, ", options.most_shared_bytes,
                         " are possible"));
  }
  if (options.resident_blocks == 0) return refuse("no resident blocks");
  const uint64_t warps = (threads + 31) / 32;
  if (Product(grid) > 0xfffffffeu / warps) {
    return refuse("over 4294967294 warps");
  }
  return OkStatus();
}

// Blocks in an order drawn from the seed, a few at a time; their warps in
// turns.
class Scheduler {
 public:
  explicit Scheduler(LaunchState& state) : state_(state) {
    blocks_ = Product(state.config.grid);
    stride_ = 1 + state.random.Below(blocks_);
    while (std::gcd(stride_, blocks_) != 1) ++stride_;
    first_ = state.random.Below(blocks_);
  }

  void Run();

 private:
  void Begin(Block& block);
  void AddReady(Block& block);
  void FailDeadlock();

  LaunchState& state_;
  uint64_t blocks_ = 0;
  uint64_t stride_ = 1;
  uint64_t first_ = 0;
  uint64_t begun_ = 0;
  std::vector<std::unique_ptr<Block>> resident_;
  std::vector<Warp*> ready_;
};

void Scheduler::Begin(Block& block) {
  const auto& grid = state_.config.grid;
  block.number = (first_ + begun_++ % blocks_ * stride_) % blocks_;
  block.position = {static_cast<uint32_t>(block.number % grid[0]),
                    static_cast<uint32_t>(block.number / grid[0] % grid[1]),
                    static_cast<uint32_t>(block.number / grid[0] / grid[1])};
  block.launch = &state_;
  const uint64_t shared =
      state_.program.shared_bytes + state_.config.dynamic_shared_bytes;
  block.shared_bytes.assign(shared, std::byte{0xcd});
  block.shared.address = kSharedBegin;
  block.shared.bytes = block.shared_bytes.data();
  block.shared.size = shared;
  block.shared.name = "shared memory";
  block.shared.shadow.Reset(shared, true, false);
  block.barriers.fill({});
  block.deferred.clear();
  block.live_threads = static_cast<uint32_t>(Product(state_.config.block));
  block.warps.resize(state_.warps_per_block);
  for (uint32_t i = 0; i < block.warps.size(); ++i) {
    block.warps[i].Reset(block, i);
  }
  AddReady(block);
}

void Scheduler::AddReady(Block& block) {
  for (Warp& warp : block.warps) {
    if (warp.ready || warp.runnable() == 0) continue;
    warp.ready = true;
    ready_.push_back(&warp);
  }
}

void Scheduler::FailDeadlock() {
  for (const auto& block : resident_) {
    for (Warp& warp : block->warps) {
      if (warp.live != 0) return FailStuck(warp);
    }
  }
}

void Scheduler::Run() {
  const uint64_t most =
      std::min<uint64_t>(state_.options.resident_blocks, blocks_);
  for (uint64_t i = 0; i < most; ++i) {
    resident_.push_back(std::make_unique<Block>());
    Begin(*resident_.back());
  }
  while (!ready_.empty() && !state_.failed) {
    const uint64_t left = state_.options.most_steps - state_.counters.steps;
    const size_t drawn = state_.random.Below(ready_.size());
    Warp& warp = *ready_[drawn];
    if (left == 0) {
      const Instruction& i =
          state_.program.code[warp.pcs[std::countr_zero(warp.runnable())]];
      warp.Fail(i, static_cast<uint32_t>(std::countr_zero(warp.runnable())),
                StrCat("the ", state_.options.most_steps,
                       " steps of the launch are used up"));
      state_.status = ResourceExhaustedError(Message(state_.status));
      return;
    }
    encore::ptx::Run(warp, std::min(left, 1 + state_.random.Below(256)));
    if (state_.failed) return;
    Block& block = *warp.block;
    if (warp.runnable() == 0) {
      warp.ready = false;
      ready_[drawn] = ready_.back();
      ready_.pop_back();
      // Lanes that wait at something of this warp's own wait forever when none
      // of its lanes can move any more.
      const bool at_barrier =
          std::ranges::find(warp.waits, Wait::kBarrier) != warp.waits.end();
      if (warp.live != 0 && !at_barrier) return FailStuck(warp);
    }
    AddReady(block);
    if (block.live_threads == 0 && begun_ < blocks_) Begin(block);
  }
  if (!state_.failed) FailDeadlock();
}

}  // namespace

Status Launch(const Program& program, const LaunchConfig& config,
              std::span<const Allocation> allocations,
              const LaunchOptions& options, Counters* counters) {
  if (counters != nullptr) *counters = {};
  ENCORE_RETURN_IF_ERROR(CheckConfig(program, config, options));
  LaunchState state(program, config, options);
  state.warps_per_block =
      static_cast<uint32_t>((Product(config.block) + 31) / 32);
  ENCORE_RETURN_IF_ERROR(
      state.memory.Add(allocations, options.check_initialized_global));
  Scheduler(state).Run();
  if (counters != nullptr) *counters = state.counters;
  return state.status;
}

}  // namespace encore::ptx
