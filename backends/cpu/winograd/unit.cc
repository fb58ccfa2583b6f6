#include "encore/backends/cpu/winograd/unit.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

// The lanes of both, those of `a` first.
Value JoinedPair(IrBuilder& b, const Value& a, const Value& other) {
  std::vector<int> lanes(size_t(a.lanes()) * 2);
  std::iota(lanes.begin(), lanes.end(), 0);
  return b.Shuffle(a, other, lanes);
}

}  // namespace

Value WinogradSpan::Before(const WinogradCode& code) const {
  IrBuilder& b = code.b;
  const Value tiles = b.Sub(first_tile, b.Mul(first_line, code.s.tile_columns));
  return b.Mul(tiles, code.s.columns.outputs);
}

TileLine LineOf(const WinogradCode& code, const Value& line) {
  if (code.sum.batches.empty()) return {{}, line};
  std::vector<int64_t> extents;
  for (const WindowedSum::Batch& batch : code.sum.batches) {
    extents.push_back(batch.extent);
  }
  extents.push_back(code.s.tile_lines);
  std::vector<Value> digits = Digits(code.b, line, extents);
  const Value last = digits.back();
  digits.pop_back();
  return {std::move(digits), last};
}

Value ImageOffset(const WinogradCode& code, const TileLine& line) {
  Value offset = IrBuilder::I64(code.sum.source_offset);
  for (size_t i = 0; i < line.batches.size(); ++i) {
    offset = code.b.Add(
        offset, code.b.Mul(line.batches[i], code.sum.batches[i].stride));
  }
  return offset;
}

Value EveryLane(IrBuilder& b, const Value& wide, int first, int step,
                int count) {
  std::vector<int> lanes(count);
  for (int i = 0; i < count; ++i) lanes[i] = first + i * step;
  return b.Shuffle(wide, wide, lanes);
}

Value Joined(IrBuilder& b, const std::vector<Value>& vectors) {
  ENCORE_CHECK(vectors.size() == 2 || vectors.size() == 4);
  const Value first = JoinedPair(b, vectors[0], vectors[1]);
  if (vectors.size() == 2) return first;
  return JoinedPair(b, first, JoinedPair(b, vectors[2], vectors[3]));
}

Value Interleaved(IrBuilder& b, const std::vector<Value>& vectors) {
  const auto count = static_cast<int>(vectors.size());
  if (count == 1) return vectors[0];
  ENCORE_CHECK(count == 2 || count == 4);
  const int lanes = vectors[0].lanes();
  std::vector<int> order(size_t(lanes) * count);
  for (int i = 0; i < lanes * count; ++i) {
    order[i] = i % count * lanes + i / count;
  }
  if (count == 2) return b.Shuffle(vectors[0], vectors[1], order);
  return b.Shuffle(Joined(b, {vectors[0], vectors[1]}),
                   Joined(b, {vectors[2], vectors[3]}), order);
}

}  // namespace encore::backends::cpu
