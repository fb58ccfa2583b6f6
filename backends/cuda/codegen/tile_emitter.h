// TileEmitter: the body of a function that computes tiles of a sum of products.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TILE_EMITTER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TILE_EMITTER_H_

#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/codegen/combiner_code.h"
#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/cuda/codegen/loops/vectors.h"
#include "encore/backends/cuda/codegen/tile_plan.h"
#include "encore/backends/cuda/codegen/tiles/tile_groups.h"

namespace encore::backends::cuda {

// A block computes a tile; blocks along n are neighbours, then those along m,
// then the points of batch.
class TileEmitter {
 public:
  // Appends to *out, which expects the declarations of the operands and args
  // before. All outlive it.
  TileEmitter(const EmitContext& context, const TilePlan& plan,
              std::string* out);

  void Emit();

  // The second launch of a plan in pieces: a thread for each result. Both keep
  // the sums in an array `parts`, declared before.
  static constexpr int kMergeThreads = 256;
  void EmitMerge();

 private:
  void EmitBlock();
  // Where the tile of the block begins, and the thread's part in it.
  void EmitOrigin(std::string_view thread, std::string_view block);
  // Opens the scope of one element of a factor, row r and k, if it exists.
  void OpenElement(const TileFactor& factor);
  // A block of statements with what all of a tile from k0 on have of k.
  void OpenStep();
  // Declares x, element tr, tk of the tile of `rows` rows from `first_row` on:
  // zero behind the last k. A row behind the last is as that one: what it gives
  // is not stored, and loads need no branch.
  void EmitElementOf(const TileFactor& factor, int rows,
                     std::string_view first_row, std::string_view type);
  // Without tensor cores: a thread has groups of rows
  // and of columns; the next tiles are under way to its registers while it
  // multiplies.
  void EmitLanes();
  // Loads what a thread has of the tiles from k0 on, and writes it to `stage`.
  void EmitLoads(const TileFill& fill);
  void EmitGroupLoads(const TileFill& fill);
  void EmitWrites(const TileFill& fill);
  void OpenSteps(const TileFill& fill);
  void EmitProducts();
  // What follows the sum: groups of results by the threads that have them,
  // where they lie so; else by way of shared memory, neighbours by neighbours.
  void EmitLaneResults();
  void EmitResultGroups(const VectorPlan& vectors);
  void EmitGroup(const VectorPlan& vectors);
  void EmitStrips();
  // Whether `name` is below the count, empty where it always is.
  std::string Below(std::string_view name,
                    const std::vector<uint32_t>& variables, int size) const;
  // On tensor cores (tile_emitter_tensor.cc): tiles of 16 bits an element, or
  // of 32 for TF32, of which the next ones are copied while one is used.
  void EmitTensor();
  void EmitTensorSums();
  void EmitTensorSteps(bool groups);
  void EmitTensorFill(const TileFactor& factor, bool groups,
                      std::string_view tile, int rows,
                      std::string_view first_row);
  void OpenSpread(int count, int extent, int unrolled);
  int ElementsAtOnce(const TileFactor& factor) const;
  void EmitGroups(const TileFactor& factor, std::string_view tile, int rows,
                  std::string_view first_row);
  void EmitTensorProducts();
  void EmitTensorResults();
  // Of the element rm, rn whose sum is `sum`: what follows, or, of a piece, the
  // sum as it is.
  void EmitElement();
  void EmitResult();
  // What follows `sum`, at the current point.
  void EmitStages();
  std::string PlaceOfPart() const;
  // The bounds of k in the block.
  std::string FirstK() const { return plan_.pieces > 1 ? "k_begin" : "0"; }
  std::string EndK() const;
  std::string Tiles(const std::vector<uint32_t>& variables, int size) const;

  const EmitContext& context_;
  const Region& region_;
  const TilePlan& plan_;
  std::string& out_;
  ExprEmitter exprs_;
  CombinerCode combiner_;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_TILE_EMITTER_H_
