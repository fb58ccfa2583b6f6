#include "encore/runtime/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {
namespace {

constexpr int kMostImprovements = 64;
constexpr size_t kMostBuffersToImprove = 1500;

// One or more buffers that share a place, one after another.
struct Block {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  std::vector<uint32_t> buffers;
  std::vector<uint32_t> beside;  // later blocks, ascending
};

// Whether two blocks may not share bytes.
bool Meet(std::span<const Block> blocks, uint32_t a, uint32_t b) {
  if (blocks[a].first > blocks[b].first) std::swap(a, b);
  if (blocks[b].first <= blocks[a].last) return true;
  return std::ranges::binary_search(blocks[a].beside, b);
}

std::vector<Block> MergeInPlace(std::span<const LiveBuffer> buffers) {
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of(buffers.size());
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](uint32_t i) { return std::pair(buffers[i].first, i); });
  for (const uint32_t i : order) {
    const LiveBuffer& buffer = buffers[i];
    const int64_t bytes = RoundUp(buffer.bytes, kAlignment);
    const int32_t from = buffer.in_place_of;
    if (from >= 0 && from < static_cast<int32_t>(buffers.size()) &&
        buffers[from].first < buffer.first) {
      // The block has room, and nobody has taken it over yet.
      Block& block = blocks[block_of[from]];
      if (block.last == buffer.first && block.buffers.back() == from &&
          bytes <= block.bytes) {
        block.last = std::max(block.last, buffer.last);
        block.buffers.push_back(i);
        block_of[i] = block_of[from];
        continue;
      }
    }
    block_of[i] = static_cast<uint32_t>(blocks.size());
    blocks.push_back({bytes, buffer.first, buffer.last, {i}, {}});
  }
  // Who uses the last buffer of a block comes after who uses the others.
  for (Block& block : blocks) {
    for (const uint32_t i : buffers[block.buffers.back()].beside) {
      if (blocks[block_of[i]].buffers.front() == i) {
        block.beside.push_back(block_of[i]);
      }
    }
    std::ranges::sort(block.beside);
  }
  return blocks;
}

// The bytes live at each step, over steps at which something begins.
std::vector<int64_t> LiveBytes(std::span<const Block> blocks) {
  uint32_t steps = 0;
  for (const Block& block : blocks) steps = std::max(steps, block.last + 1);
  std::vector<int64_t> live(steps + 1);
  for (const Block& block : blocks) {
    live[block.first] += block.bytes;
    live[block.last + 1] -= block.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

struct Placement {
  std::vector<int64_t> offsets;  // per block
  int64_t bytes = 0;
};

// Places blocks in `order`, each in the smallest gap that holds it.
Placement Place(std::span<const Block> blocks,
                std::span<const uint32_t> order) {
  Placement placement;
  placement.offsets.resize(blocks.size());
  std::vector<uint32_t> placed;  // ascending by offset
  for (const uint32_t i : order) {
    const Block& block = blocks[i];
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (const uint32_t other : placed) {
      if (!Meet(blocks, i, other)) continue;
      const int64_t gap = placement.offsets[other] - end;
      if (gap >= block.bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, placement.offsets[other] + blocks[other].bytes);
    }
    const int64_t offset = best >= 0 ? best : end;
    placement.offsets[i] = offset;
    placement.bytes = std::max(placement.bytes, offset + block.bytes);
    placed.insert(std::ranges::upper_bound(
                      placed, offset, {},
                      [&](uint32_t p) { return placement.offsets[p]; }),
                  i);
  }
  return placement;
}

std::vector<std::vector<uint32_t>> Orders(std::span<const Block> blocks,
                                          std::span<const int64_t> live) {
  std::vector<uint32_t> identity(blocks.size());
  std::iota(identity.begin(), identity.end(), 0);
  const auto sorted = [&](auto key) {
    std::vector<uint32_t> order = identity;
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
      const auto key_a = key(a), key_b = key(b);
      return key_a != key_b ? key_a > key_b : a < b;
    });
    return order;
  };
  const auto breadth = [&](uint32_t i) {
    return *std::max_element(live.begin() + blocks[i].first,
                             live.begin() + blocks[i].last + 1);
  };
  std::vector<int64_t> breadths;
  for (const uint32_t i : identity) breadths.push_back(breadth(i));
  return {
      sorted([&](uint32_t i) { return blocks[i].bytes; }),
      sorted(
          [&](uint32_t i) { return std::tuple(breadths[i], blocks[i].bytes); }),
      sorted([&](uint32_t i) {
        return static_cast<double>(blocks[i].bytes) *
               (blocks[i].last - blocks[i].first + 1);
      }),
  };
}

// Moves the block at the top of the arena to the front, while that helps now
// and then.
void Improve(std::span<const Block> blocks, int64_t lower_bound,
             std::vector<uint32_t> order, Placement* best) {
  Placement current = *best;
  for (int round = 0; round < kMostImprovements; ++round) {
    if (best->bytes == lower_bound) return;
    const auto top = std::ranges::find_if(order, [&](uint32_t i) {
      return current.offsets[i] + blocks[i].bytes == current.bytes;
    });
    std::rotate(order.begin(), top, top + 1);
    current = Place(blocks, order);
    if (current.bytes < best->bytes) *best = current;
  }
}

}  // namespace

OffsetPlan PlanOffsets(std::span<const LiveBuffer> buffers) {
  for (const LiveBuffer& buffer : buffers) {
    ENCORE_CHECK(buffer.bytes >= 0 && buffer.first <= buffer.last);
  }
  const std::vector<Block> blocks = MergeInPlace(buffers);
  const std::vector<int64_t> live = LiveBytes(blocks);
  OffsetPlan plan;
  plan.lower_bound = *std::ranges::max_element(live);
  Placement best;
  best.bytes = INT64_MAX;
  std::vector<uint32_t> best_order;
  for (const std::vector<uint32_t>& order : Orders(blocks, live)) {
    Placement placement = Place(blocks, order);
    if (placement.bytes >= best.bytes) continue;
    best = std::move(placement);
    best_order = order;
    if (best.bytes == plan.lower_bound) break;
  }
  if (blocks.size() <= kMostBuffersToImprove) {
    Improve(blocks, plan.lower_bound, best_order, &best);
  }
  plan.bytes = best.bytes;
  plan.offsets.resize(buffers.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const uint32_t i : blocks[b].buffers) {
      plan.offsets[i] = best.offsets[b];
    }
  }
  return plan;
}

}  // namespace encore::runtime
