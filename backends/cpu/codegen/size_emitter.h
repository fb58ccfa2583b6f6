// Sizes as code: constants, or expressions over the kernel's arguments.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_SIZE_EMITTER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_SIZE_EMITTER_H_

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/region/flat/size.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {

class SizeEmitter {
 public:
  // `b` gets the code.
  explicit SizeEmitter(IrBuilder& b) : b_(b) {}

  // Loads the arguments of the kernel, the values of its `count` symbols. Once,
  // in code that dominates all that follows.
  void LoadSymbols(uint32_t count);

  // Each an i64. REQUIRES that the symbols in it have been loaded.
  Value DimValue(const Dim& dim);
  Value SizeValue(const Size& size);
  // <0, step, 2 * step, …> of so many lanes.
  Value Steps(const Size& step, int lanes);

 private:
  IrBuilder& b_;
  std::vector<Value> symbols_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_SIZE_EMITTER_H_
