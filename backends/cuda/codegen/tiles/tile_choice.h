// Which size of tiles, and how many pieces of a sum, take least time where no
// tensor cores multiply: an estimate of what a multiprocessor waits for.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_CHOICE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_CHOICE_H_

#include <optional>

namespace encore::backends::cuda {

// A sum of products, and how it is cut: what a block has of it at a time, and
// what a thread computes of that.
struct TileProblem {
  double m = 1, n = 1, k = 1, batch = 1;
  int element_bytes = 4;
};
struct TileSize {
  int m = 0, n = 0, k = 0, part_m = 0, part_n = 0;
  int pieces = 1;  // that a sum is cut into

  int threads() const { return m / part_m * (n / part_n); }
};

// Cycles from the end of a launch to that of a small one behind it.
inline constexpr double kLaunchCycles = 4000;

// What tiles are chosen for.
struct TileMachine {
  double multiprocessors = 132;
  double warps_per_cycle = 4;   // of a multiprocessor, multiplying in f32
  double bytes_per_cycle = 18;  // of memory, a multiprocessor's share
};

// Clocks of a multiprocessor, the merge of pieces included, of the device.
// Blocks that are on a multiprocessor at the same time share what it
// multiplies and what memory gives it; while they have too little under way,
// each tile takes memory's latency. Rows and columns of tiles that the result
// lacks cost what others do.
double TileClocks(const TileProblem& problem, const TileSize& size,
                  const TileMachine& machine);

// Of those in one piece.
TileSize ChooseTiles(const TileProblem& problem, const TileMachine& machine);

// Of those in several pieces; nothing where the best of them is expected to
// take longer than those of ChooseTiles, or too little is reduced.
std::optional<TileSize> ChoosePieces(const TileProblem& problem,
                                     const TileMachine& machine);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TILES_TILE_CHOICE_H_
