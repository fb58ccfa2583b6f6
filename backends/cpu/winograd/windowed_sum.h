// WindowedSum: the convolution with a window of 3 x 3, 3 x 1 or 1 x 3 that the
// sums of a region are.
//
// It is found in the linear addresses that a region's variables make, whatever
// the operator has for dims: of all dims of an image, one or two have a window,
// without strides and dilations, and nothing is summed along the others, which
// are batches, or the columns of lines with a window: a window of 1x3x3 in
// three dims is one of 3 x 3 of each image's planes, of 1x3x3 with strides in
// the first dim of every second one.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_WINDOWED_SUM_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_WINDOWED_SUM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/vendor/sum_region.h"

namespace encore::backends::cpu {

// Variables are those of SumRegion::flat(). Strides and offsets in elements.
struct WindowedSum {
  // A dim without a window.
  struct Batch {
    int variable = -1;
    int64_t extent = 1;
    int64_t stride = 0;  // of the source
  };

  uint32_t source = 0, weights = 0;  // inputs of the region
  std::vector<Batch> batches;        // outermost first
  int64_t channels = 1, rows = 1;    // C, O
  int64_t height = 1, width = 1;     // of the source
  int64_t source_offset = 0;         // of the source's first element
  // From channel to channel, line to line; 1 from column to column.
  int64_t channel_stride = 0, line_stride = 0;
  int64_t top = 0, left = 0;  // padding, less than the window
  int64_t result_height = 1, result_width = 1;
  int64_t line_window = 1, column_window = 1;  // 1 or 3, not both 1
  // Variables that run along O and the dims of the result; of lines -1 where
  // there is one, with a window of 1.
  int row_variable = -1, line_variable = -1, column_variable = -1;
  // Of the weights: where they begin, and from row to row, channel to channel
  // and tap to tap.
  int64_t weights_offset = 0;
  int64_t weights_row = 0, weights_channel = 0, weights_line = 0,
          weights_column = 0;

  // The product of the batches: tiles are numbered through all of them.
  int64_t images() const;
};

// `weights`: inputs that may be packed. Nothing unless they are the second
// factor of an f32 product, and what is beyond the source counts as 0.
std::optional<WindowedSum> FindWindowedSum(const SumRegion& sum,
                                           const std::vector<bool>& weights);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_WINDOWED_SUM_H_
