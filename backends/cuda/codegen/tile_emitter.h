// TileEmitter: the body of a function that computes tiles of a sum of products.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_TILE_EMITTER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_TILE_EMITTER_H_

#include <string>
#include <string_view>

#include "encore/backends/cuda/codegen/combiner_code.h"
#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/cuda/codegen/tile_plan.h"

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
  // Fills the tile of a factor in shared memory from k0 on.
  void EmitFill(const TileFactor& factor, std::string_view tile, int rows,
                std::string_view first_row);
  // Opens the scope of one element of a factor, row r and k, if it exists.
  void OpenElement(const TileFactor& factor);
  void EmitProducts();
  // On tensor cores (tile_emitter_tensor.cc): tiles of 16 bits an element, of
  // which the next is copied while one is used.
  void EmitTensor();
  void EmitTensorFill(const TileFactor& factor, std::string_view tile, int rows,
                      std::string_view first_row);
  void EmitGroups(const TileFactor& factor, std::string_view tile, int rows,
                  std::string_view first_row);
  void EmitTensorProducts();
  void EmitTensorResults();
  // What follows the sum, for all elements of the tile.
  void EmitResults();
  // Of the element rm, rn whose sum is `sum`: what follows, or, of a piece, the
  // sum as it is.
  void EmitElement();
  void EmitResult();
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
