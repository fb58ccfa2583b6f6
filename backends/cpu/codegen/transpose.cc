#include "encore/backends/cpu/codegen/transpose.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

constexpr int kPartBits = 128;

// Interleaves the low or the high halves of each part of `part` lanes.
Value Interleave(IrBuilder& b, const Value& first, const Value& second,
                 int part, bool high) {
  const int lanes = first.lanes();
  std::vector<int> pick;
  for (int i = 0; i < lanes; ++i) {
    const int within = i % part;
    const int from = i - within + (high ? part / 2 : 0) + within / 2;
    pick.push_back(within % 2 == 0 ? from : lanes + from);
  }
  return b.Shuffle(first, second, pick);
}

// The even or the odd parts of both, one vector's behind the other's.
Value Separate(IrBuilder& b, const Value& first, const Value& second, int part,
               bool odd) {
  std::vector<int> pick;
  for (int i = 0; i < first.lanes(); ++i) {
    pick.push_back((2 * (i / part) + (odd ? 1 : 0)) * part + i % part);
  }
  return b.Shuffle(first, second, pick);
}

}  // namespace

// Within parts, and then of parts, by rounds that each are a perfect shuffle of
// the rows: n elements are where a transpose has them after log2(n) of these.
std::vector<Value> Transpose(IrBuilder& b, std::vector<Value> rows) {
  const int lanes = rows[0].lanes();
  ENCORE_CHECK_EQ(rows.size(), static_cast<size_t>(lanes));
  const int part = std::min(lanes, kPartBits / ElemBits(rows[0].type.elem));
  for (int round = 1; round < part; round *= 2) {
    std::vector<Value> next(rows.size());
    for (int group = 0; group < lanes; group += part) {
      for (int i = 0; i < part / 2; ++i) {
        const Value& low = rows[group + i];
        const Value& high = rows[group + i + part / 2];
        next[group + 2 * i] = Interleave(b, low, high, part, false);
        next[group + 2 * i + 1] = Interleave(b, low, high, part, true);
      }
    }
    rows = std::move(next);
  }
  // LLVM looks for one shuffle that does the work of several, through all that
  // lie behind each other, and finds none: without an end to it that took half
  // of the time to compile a transpose.
  for (Value& row : rows) row = b.Opaque(row);
  // Vector `c` of group g has column c of each part for the rows of g.
  const int parts = lanes / part;
  for (int round = 1; round < parts; round *= 2) {
    std::vector<Value> next(rows.size());
    for (int c = 0; c < part; ++c) {
      for (int i = 0; i < parts / 2; ++i) {
        const Value& first = rows[2 * i * part + c];
        const Value& second = rows[(2 * i + 1) * part + c];
        next[i * part + c] = Separate(b, first, second, part, false);
        next[(i + parts / 2) * part + c] =
            Separate(b, first, second, part, true);
      }
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace encore::backends::cpu
