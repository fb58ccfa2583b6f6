#include "encore/backends/cpu/attention/product.h"

#include <vector>

namespace encore::backends::cpu {

void EmitRegisterTile(IrBuilder& b, const RegisterTile& tile) {
  const IrType type{Elem::kF32, tile.lanes};
  const auto at = [&](const Value& base, int64_t element) {
    return b.Gep(base, Elem::kF32, IrBuilder::I64(element));
  };
  const auto scalar = [&](const Value& base, int64_t element) {
    return b.Splat(b.Load({Elem::kF32, 1}, at(base, element), 4), tile.lanes);
  };
  const auto place = [&](int r, int v) {
    return at(tile.c, r * tile.c_pitch + int64_t{v} * tile.lanes);
  };
  std::vector<Value> sums;
  for (int r = 0; r < tile.rows; ++r) {
    Value scale;
    if (tile.scales.valid()) scale = scalar(tile.scales, r);
    for (int v = 0; v < tile.vectors; ++v) {
      sums.push_back(b.NewVariable(type));
      b.Set(sums.back(), scale.valid() ? b.Binary("fmul", scale,
                                                  b.Load(type, place(r, v), 4))
                                       : IrBuilder::Zero(type));
    }
  }
  const int64_t step = int64_t{tile.vectors} * tile.lanes;
  b.Loop(IrBuilder::I64(0), IrBuilder::I64(tile.depth), 1, [&](const Value& k) {
    const Value line = b.Gep(tile.panel, Elem::kF32, b.Mul(k, step));
    const Value column = b.Gep(tile.a, Elem::kF32, k);
    std::vector<Value> vectors;
    for (int v = 0; v < tile.vectors; ++v) {
      vectors.push_back(b.Load(type, at(line, int64_t{v} * tile.lanes), 4));
    }
    for (int r = 0; r < tile.rows; ++r) {
      const Value factor = scalar(column, r * tile.a_pitch);
      for (int v = 0; v < tile.vectors; ++v) {
        const Value& sum = sums[r * tile.vectors + v];
        b.Set(sum, b.Fma(factor, vectors[v], b.Get(sum, type)));
      }
    }
  });
  for (int r = 0; r < tile.rows; ++r) {
    for (int v = 0; v < tile.vectors; ++v) {
      b.Store(b.Get(sums[r * tile.vectors + v], type), place(r, v), 4);
    }
  }
}

void EmitPanels(IrBuilder& b, RegisterTile tile, int64_t vectors,
                int panel_vectors, int64_t panel_depth) {
  const Value panels = tile.panel, c = tile.c;
  const int64_t width = int64_t{panel_vectors} * tile.lanes;
  const int64_t whole = vectors / panel_vectors;
  const auto emit = [&](const Value& panel, int64_t count) {
    tile.vectors = static_cast<int>(count);
    tile.panel = b.Gep(panels, Elem::kF32, b.Mul(panel, width * panel_depth));
    tile.c = b.Gep(c, Elem::kF32, b.Mul(panel, width));
    EmitRegisterTile(b, tile);
  };
  if (whole > 0) {
    b.Loop(IrBuilder::I64(0), IrBuilder::I64(whole), 1,
           [&](const Value& panel) { emit(panel, panel_vectors); });
  }
  if (vectors > whole * panel_vectors) {
    emit(IrBuilder::I64(whole), vectors - whole * panel_vectors);
  }
}

}  // namespace encore::backends::cpu
