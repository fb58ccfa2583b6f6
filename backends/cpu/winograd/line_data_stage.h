// The first stage of a Winograd convolution's unit where one dim alone has a
// window.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_LINE_DATA_STAGE_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_LINE_DATA_STAGE_H_

#include "encore/backends/cpu/winograd/unit.h"

namespace encore::backends::cpu {

// The span's tiles of every channel, transformed, in scratch.layout.data. Each
// vector of tiles is read from its lines of the source, channel by channel.
// REQUIRES code.s.by_lines().
void EmitDataByLines(const WinogradCode& code, const WinogradSpan& span);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_LINE_DATA_STAGE_H_
