// AttentionEmitter: the body of a function that computes attention in one pass
// over the keys (attention_plan.h).
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_EMITTER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_EMITTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/codegen/attention_plan.h"
#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/region/flat/attention_region.h"

namespace encore::backends::cuda {

// Blocks of the tiles of a head are neighbours, then heads, then pieces.
class AttentionEmitter {
 public:
  // Appends to *out, which expects the declarations of the operands before. All
  // outlive it.
  AttentionEmitter(const EmitContext& context, const AttentionRegion& attention,
                   const AttentionPlan& plan, std::string* out);

  void Emit();

  // The second launch of a plan in pieces: a thread for each result. Both keep
  // in `parts`, an array of f32 that is declared before, for each piece and row
  // the results, the largest score and the sum.
  static constexpr int kMergeThreads = 256;
  void EmitMerge();
  static int64_t PartElements(const AttentionRegion& attention,
                              const AttentionPlan& plan);

 private:
  // A matrix in shared memory that is filled with elements of a factor.
  struct Fill {
    const AttentionFactor* factor = nullptr;
    std::vector<uint32_t> row_variables = {}, column_variables = {};
    // Of the first one, and behind the last that exists.
    std::string first_row = {}, first_column = "0";
    int64_t row_end = 0, column_end = 0;
    int rows = 0, columns = 0;
    // Columns that lie together; all, where it is `columns`.
    int slice = 0;
    // The number of the row that lies in place tr.
    std::string row_of = "tr";
    // Lanes have 8 columns and 4 rows, whatever neighbours are.
    bool by_blocks = false;
    // From "x" in place tr, tk.
    std::string store = {};
    // Whether rows that are copied beside each other are four apart.
    bool by_fours = false;
    // Where groups of 8 columns from there on belong, where they may be copied.
    std::string group_place = {};
  };
  void EmitFill(const Fill& fill);
  void EmitGroups(const Fill& fill);
  void OpenTurns(int count);
  void OpenElement(const Fill& fill, std::string_view row,
                   std::string_view column);

  void EmitBlock();
  // The loop over steps, of which k_next is the one behind k0; where the plan
  // says so those whose keys are hidden from all rows are left out.
  void EmitFirstStep();
  void OpenSteps();
  // In f32 (attention_emitter_lanes.cc); on tensor cores
  // (attention_emitter_tensor.cc).
  void EmitLanes();
  void EmitTensor();
  Fill Query() const;
  Fill Key(std::string_view first_key) const;
  Fill Value(std::string_view first_key) const;
  Fill TensorQuery() const;
  Fill TensorKey(std::string_view first_key) const;
  Fill TensorValue(std::string_view first_key) const;
  void EmitLaneProducts();
  void EmitLaneResults();
  void EmitTensorProducts();
  void EmitTensorWeights();
  void EmitTensorResults();
  // Scores of products: score i of row r of the lane, `each` of them, is that
  // of row `row_of` of the tile and key `key_of` of the step.
  void EmitScores(int rows, int each, std::string_view row_of,
                  std::string_view key_of);
  // Weighs the scores by groups of `lanes` lanes.
  void EmitWeigh(int rows, int each, int lanes);
  // Behind the last step: the sums of those groups.
  void EmitSums(int rows, int lanes, std::string_view row_of);
  // Of the elements of `strip`, of which row sr of `strip_rows` is row `row_of`
  // of the tile: what follows, or, of a piece, what is kept of it.
  void EmitStrip(int strip_rows, std::string_view row_of);
  // What follows the result `y` of row ar and column ac of the head.
  void EmitResult();
  std::string PartOf(std::string_view row) const;
  // What weights are multiplied by.
  std::string_view Factor() const;

  const EmitContext& context_;
  const AttentionRegion& attention_;
  const Region& region_;
  const AttentionPlan& plan_;
  std::string& out_;
  ExprEmitter exprs_;
  std::vector<uint32_t> depth_, key_, column_;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_EMITTER_H_
