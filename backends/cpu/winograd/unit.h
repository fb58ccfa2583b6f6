// What the stages of a Winograd convolution's code share.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_UNIT_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_UNIT_H_

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/scratch.h"

namespace encore::backends::cpu {

// All are used as long as this is.
struct WinogradCode {
  IrBuilder& b;
  const WindowedSum& sum;
  const WinogradSchedule& s;
  const WinogradScratch& layout;
  Value source, weights;  // packed
  Value scratch;          // of this partition

  // An element of this partition's scratch memory.
  Value Scratch(int64_t offset) const {
    return b.Gep(scratch, Elem::kF32, IrBuilder::I64(offset));
  }
  IrType vector() const { return {Elem::kF32, s.lanes}; }
  // m times the tiles of a line: columns of a line of tiles in scratch.
  int64_t line_columns() const { return s.tile_columns * s.columns.outputs; }
};

// A span of vectors of tiles. Lines of tiles are numbered through all images.
struct WinogradSpan {
  Value vectors;               // how many
  Value first_tile, end_tile;  // that exist
  Value first_line, end_line;  // of tiles that it has some of

  // Columns in scratch before the first tile.
  Value Before(const WinogradCode& code) const;
};

// The place in each batch of a line of tiles, and its number in that image.
struct TileLine {
  std::vector<Value> batches;
  Value line;
};
TileLine LineOf(const WinogradCode& code, const Value& line);
// The offset of its image in the source.
Value ImageOffset(const WinogradCode& code, const TileLine& line);

// Every `step`th lane of a wide vector, from `first` on, `count` of them.
Value EveryLane(IrBuilder& b, const Value& wide, int first, int step,
                int count);
// The lanes of vectors of one type, those of the first one first. REQUIRES 2 or
// 4 vectors.
Value Joined(IrBuilder& b, const std::vector<Value>& vectors);
// The lanes of vectors of one type in turn: those of lane 0, of lane 1, …
// REQUIRES 1, 2 or 4 vectors.
Value Interleaved(IrBuilder& b, const std::vector<Value>& vectors);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_UNIT_H_
