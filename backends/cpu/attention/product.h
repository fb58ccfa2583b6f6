// A product of a few rows by a few vectors in registers.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_PRODUCT_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_PRODUCT_H_

#include <cstdint>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"

namespace encore::backends::cpu {

// c[r][v] = (scales[r] * c[r][v]) + sum over k below `depth` of a[r][k] *
// panel[k][v], all of f32 in memory; without `scales` from zero. Pitches in
// elements, from row to row; those of the panel are whole vectors.
struct RegisterTile {
  int rows = 1, vectors = 1, lanes = 1;
  int64_t depth = 1;
  Value a, panel, c, scales;
  int64_t a_pitch = 0, c_pitch = 0;
};

void EmitRegisterTile(IrBuilder& b, const RegisterTile& tile);

// The same of `vectors` vectors of c from panels of `panel_vectors` vectors,
// [depth of a panel][vectors] one after the other, the last with those that are
// left. `panel_depth`: what each has, at least `tile.depth`.
void EmitPanels(IrBuilder& b, RegisterTile tile, int64_t vectors,
                int panel_vectors, int64_t panel_depth);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_PRODUCT_H_
