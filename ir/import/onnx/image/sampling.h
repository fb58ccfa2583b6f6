// What operators share that read an image between its elements.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_SAMPLING_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_SAMPLING_H_

#include <vector>

#include "encore/ir/build/builder.h"

namespace encore::onnx {

// One spatial axis of a grid.
struct GridAxis {
  Value extent;  // i64 scalar
  // How far before its first element and behind its last one it reflects.
  double margin = 0;
};

// A tap: the position of an element along one axis, its weight, and whether it
// is an element at all.
struct Tap {
  Value at;      // i64
  Value weight;  // invalid: 1
  Value inside;  // bool; invalid: always
};

// The sum over all combinations of taps [N, P] of `axes` of x [N, C, d…], the
// last axis innermost: [N, C, P].
Value Sample(GraphBuilder& g, Value x, const std::vector<GridAxis>& axes,
             const std::vector<std::vector<Tap>>& taps);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_SAMPLING_H_
