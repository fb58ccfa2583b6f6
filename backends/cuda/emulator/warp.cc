#include "encore/backends/cuda/emulator/warp.h"

#include <algorithm>
#include <string>

#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

constexpr uint64_t kPoison = 0xdeadbeefdeadbeef;

// The value of a special register that stays as it is.
uint64_t SpecialValue(const Warp& warp, SpecialRegister special,
                      uint32_t lane) {
  using enum SpecialRegister;
  const LaunchConfig& config = warp.launch->config;
  const auto& block = config.block;
  const uint32_t thread = warp.index * 32 + lane;
  const uint32_t bit = 1u << lane;
  const auto n = static_cast<size_t>(special);
  switch (special) {
    case kTidX:
      return thread % block[0];
    case kTidY:
      return thread / block[0] % block[1];
    case kTidZ:
      return thread / block[0] / block[1];
    case kNtidX:
    case kNtidY:
    case kNtidZ:
      return block[n - static_cast<size_t>(kNtidX)];
    case kCtaidX:
    case kCtaidY:
    case kCtaidZ:
      return warp.block->position[n - static_cast<size_t>(kCtaidX)];
    case kNctaidX:
    case kNctaidY:
    case kNctaidZ:
      return config.grid[n - static_cast<size_t>(kNctaidX)];
    case kLaneid:
      return lane;
    case kWarpid:
      return warp.index;
    case kNwarpid:
      return warp.launch->warps_per_block;
    case kWarpSize:
      return 32;
    case kLanemaskEq:
      return bit;
    case kLanemaskLt:
      return bit - 1;
    case kLanemaskLe:
      return bit | (bit - 1);
    case kLanemaskGt:
      return ~(bit | (bit - 1));
    case kLanemaskGe:
      return ~(bit - 1);
    case kSmid:
      return warp.block->number % warp.launch->options.resident_blocks;
    case kNsmid:
      return warp.launch->options.resident_blocks;
    case kDynamicSmemSize:
      return config.dynamic_shared_bytes;
    case kTotalSmemSize:
      return config.dynamic_shared_bytes + warp.program->shared_bytes;
    case kClusterNctaRank:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

void Warp::Reset(Block& block_in, uint32_t index_in) {
  block = &block_in;
  launch = block_in.launch;
  program = &launch->program;
  index = index_in;
  const auto& size = launch->config.block;
  const uint32_t all = size[0] * size[1] * size[2];
  threads = std::min(all - index * 32, 32u);
  live = threads == 32 ? 0xffffffffu : (1u << threads) - 1;
  waiting = 0;
  waits.fill(Wait::kNone);
  pcs.fill(0);
  astray = 0;
  ready = false;
  carry = 0;
  registers.assign(size_t{program->slots} * 32, kPoison);
  for (const SpecialSlot& special : program->specials) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      // All are of 32 bits but those that are counted as the launch goes on.
      registers[size_t{special.slot} * 32 + lane] =
          SpecialValue(*this, special.special, lane) & 0xffffffffu;
    }
  }
  local.clear();
  for (auto& copies : open_copies) copies.clear();
  for (auto& groups : copy_groups) groups.clear();
  clock.Reset(static_cast<uint32_t>(block_in.number) * launch->warps_per_block,
              launch->warps_per_block, index);
  fenced.reset();
  acquired.reset();
}

std::string Warp::ThreadName(uint32_t lane) const {
  const auto& size = launch->config.block;
  const uint32_t thread = index * 32 + lane;
  const auto& at = block->position;
  return StrCat("thread (", thread % size[0], ", ", thread / size[0] % size[1],
                ", ", thread / size[0] / size[1], ") of block (", at[0], ", ",
                at[1], ", ", at[2], ")");
}

void Warp::Fail(const Instruction& i, uint32_t lane, std::string_view message) {
  if (launch->failed) return;
  launch->failed = true;
  launch->status = FailedPreconditionError(
      StrCat("kernel ", program->name, ", PTX line ", i.line, " (",
             RowOf(i.op).name, "), ", ThreadName(lane), ": ", message));
}

}  // namespace encore::ptx
