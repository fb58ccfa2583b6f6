// The second stage of a Winograd convolution's unit: a matrix product for each
// point of the transform.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_PRODUCT_STAGE_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_PRODUCT_STAGE_H_

#include "encore/backends/cpu/winograd/unit.h"

namespace encore::backends::cpu {

// The rows of the groups from `group` to `end`, a chunk, by the span's data,
// into scratch.layout.products.
void EmitProducts(const WinogradCode& code, const WinogradSpan& span,
                  const Value& group, const Value& end);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_PRODUCT_STAGE_H_
