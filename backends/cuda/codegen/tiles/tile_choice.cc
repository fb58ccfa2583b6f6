#include "encore/backends/cuda/codegen/tiles/tile_choice.h"

#include <algorithm>
#include <cmath>

namespace encore::backends::cuda {
namespace {

// Of few rows: with as many bytes of the other factor under way as registers
// hold.
constexpr TileSize kSizes[] = {{128, 128, 8, 8, 8}, {64, 64, 16, 8, 4},
                               {32, 32, 32, 4, 4},  {32, 128, 16, 4, 8},
                               {16, 128, 32, 4, 4}, {8, 128, 32, 2, 4},
                               {4, 256, 16, 4, 4},  {1, 256, 16, 1, 4},
                               {128, 32, 16, 8, 4}, {128, 16, 32, 4, 4}};

// Of a multiprocessor. Bytes of memory a clock, and clocks from a load to its
// value where all of them load: so 32 KiB have to be under way.
constexpr double kBytesOfClock = 20;
constexpr double kLatency = 1600;
constexpr double kSharedBytes = 200 * 1024;
constexpr double kMostSharedBytesOfBlock = 46 * 1024;
constexpr double kRegisterBytes = 256 * 1024;
// Registers of a thread, in elements.
constexpr double kRegisters = 128;
constexpr double kWarp = 32;
// What is read of shared memory at once, in elements. A read of a warp takes
// two clocks, of which half are hidden behind products.
constexpr double kGroup = 4;

// Tiles along k that a piece has at least: its sum is written and read once
// more.
constexpr double kLeastTilesOfPiece = 4;
constexpr int kPieces[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};

// Of the tiles of both factors that are used at a time.
double TileBytes(const TileSize& size, int element_bytes) {
  return static_cast<double>(size.k) * (size.m + size.n) * element_bytes;
}

// Two of them, with padding.
double SharedBytes(const TileSize& size, int element_bytes) {
  constexpr double kPadding = 8;
  return 2.0 * size.k * (size.m + size.n + kPadding) * element_bytes;
}

// That fits shared memory.
TileSize Fitting(TileSize size, int element_bytes) {
  if (SharedBytes(size, element_bytes) > kMostSharedBytesOfBlock) size.k /= 2;
  return size;
}

// Blocks that a multiprocessor has room for.
double MostBlocks(const TileSize& size, int element_bytes) {
  const double registers = size.threads() * kRegisters * element_bytes;
  return std::max(
      1.0, std::floor(std::min(kSharedBytes / SharedBytes(size, element_bytes),
                               kRegisterBytes / registers)));
}

// The least, or nothing below `least`.
struct Best {
  double clocks = INFINITY;
  std::optional<TileSize> size = std::nullopt;

  void Try(const TileProblem& problem, const TileSize& other,
           const TileMachine& machine) {
    const double of_other = TileClocks(problem, other, machine);
    if (of_other >= clocks) return;
    clocks = of_other;
    size = other;
  }
};

}  // namespace

double TileClocks(const TileProblem& problem, const TileSize& size,
                  const TileMachine& machine) {
  const int bytes = problem.element_bytes;
  const double tiles = std::ceil(problem.m / size.m) *
                       std::ceil(problem.n / size.n) * problem.batch;
  const double blocks =
      std::ceil(std::max(tiles, 1.0) * size.pieces / machine.multiprocessors);
  const double together = std::min(MostBlocks(size, bytes), blocks);
  const double reads =
      std::ceil(size.part_m / kGroup) + std::ceil(size.part_n / kGroup);
  const double products =
      size.k * size.threads() / kWarp *
      (size.part_m * size.part_n / machine.warps_per_cycle + reads) * bytes / 4;
  const double tile = std::max(
      kLatency,
      together * std::max(products, TileBytes(size, bytes) / kBytesOfClock));
  const double steps =
      std::max(1.0, std::ceil(problem.k / size.pieces / size.k));
  double clocks = blocks / together * steps * tile;
  if (size.pieces > 1) {
    const double sums =
        problem.m * problem.n * problem.batch * size.pieces * bytes;
    clocks +=
        kLaunchCycles + 2 * sums / (kBytesOfClock * machine.multiprocessors);
  }
  return clocks;
}

TileSize ChooseTiles(const TileProblem& problem, const TileMachine& machine) {
  Best best;
  for (const TileSize& size : kSizes) {
    best.Try(problem, Fitting(size, problem.element_bytes), machine);
  }
  return *best.size;
}

std::optional<TileSize> ChoosePieces(const TileProblem& problem,
                                     const TileMachine& machine) {
  Best best;
  best.clocks = TileClocks(problem, ChooseTiles(problem, machine), machine);
  for (const TileSize& size : kSizes) {
    TileSize split = Fitting(size, problem.element_bytes);
    for (const int pieces : kPieces) {
      if (problem.k < pieces * kLeastTilesOfPiece * split.k) break;
      split.pieces = pieces;
      best.Try(problem, split, machine);
    }
  }
  return best.size;
}

}  // namespace encore::backends::cuda
