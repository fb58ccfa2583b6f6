// The first stage of a Winograd convolution's unit: B^T d B.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_DATA_STAGE_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_DATA_STAGE_H_

#include "encore/backends/cpu/winograd/unit.h"

namespace encore::backends::cpu {

// The span's tiles of every channel, transformed, in scratch.layout.data.
// Vectors run along columns of the image for the dim of lines, then along
// tiles; of schedules by lines along tiles alone.
void EmitData(const WinogradCode& code, const WinogradSpan& span);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_DATA_STAGE_H_
