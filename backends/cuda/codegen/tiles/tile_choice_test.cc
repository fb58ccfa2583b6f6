#include "encore/backends/cuda/codegen/tiles/tile_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

const TileMachine kMachine;

double Blocks(const TileProblem& problem, const TileSize& size) {
  return std::ceil(problem.m / size.m) * std::ceil(problem.n / size.n) *
         problem.batch * size.pieces;
}

TEST(TileChoice, LargeProductsHaveTheLargestTiles) {
  for (const double size : {2048.0, 4096.0, 4100.0}) {
    const TileProblem problem{.m = size, .n = size, .k = size};
    const TileSize tiles = ChooseTiles(problem, kMachine);
    EXPECT_EQ(tiles.m, 128) << size;
    EXPECT_EQ(tiles.n, 128) << size;
    EXPECT_EQ(tiles.threads(), 256) << size;
  }
}

TEST(TileChoice, SmallerOnesFillTheDevice) {
  const TileProblem problem{.m = 1024, .n = 1024, .k = 1024};
  EXPECT_GE(Blocks(problem, ChooseTiles(problem, kMachine)),
            kMachine.multiprocessors);
}

// Few rows: tiles that have no more, or few, and at least two blocks for each
// multiprocessor, though few enough that merging them costs little.
TEST(TileChoice, FewRows) {
  for (const int rows : {1, 4, 8, 16, 32}) {
    for (const double columns : {1024.0, 4096.0, 11008.0}) {
      const TileProblem problem{
          .m = static_cast<double>(rows), .n = columns, .k = 4096};
      const std::optional<TileSize> size = ChoosePieces(problem, kMachine);
      ASSERT_TRUE(size.has_value()) << rows << " " << columns;
      EXPECT_LE(size->m, std::max(rows, 8)) << columns;
      if (columns > 2048) EXPECT_EQ(size->m, rows) << columns;
      EXPECT_GE(Blocks(problem, *size), 2 * kMachine.multiprocessors * 0.9)
          << rows << " " << columns;
      const double merged = 2 * problem.m * problem.n * size->pieces;
      EXPECT_LE(merged, problem.n * problem.k / 4) << rows << " " << columns;
    }
  }
}

TEST(TileChoice, NoPiecesWhereThereAreBlocksEnough) {
  EXPECT_FALSE(
      ChoosePieces({.m = 4096, .n = 4096, .k = 4096}, kMachine).has_value());
  EXPECT_FALSE(ChoosePieces({.m = 64, .n = 64, .k = 64}, kMachine).has_value());
}

// Tiles of both factors, twice, lie in what a block has of shared memory.
TEST(TileChoice, FitsSharedMemory) {
  for (const int bytes : {4, 8}) {
    for (const double m : {1.0, 4.0, 8.0, 16.0, 32.0, 300.0, 5000.0}) {
      for (const double n : {16.0, 64.0, 128.0, 5000.0}) {
        const TileSize size = ChooseTiles(
            {.m = m, .n = n, .k = 1000, .element_bytes = bytes}, kMachine);
        EXPECT_LE(2 * size.k * (size.m + size.n + 8) * bytes, 48 * 1024);
        EXPECT_EQ(size.k % 8, 0);
      }
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
