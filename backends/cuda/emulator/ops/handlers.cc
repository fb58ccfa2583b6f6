#include "encore/backends/cuda/emulator/ops/handlers.h"

#include "encore/backends/cuda/emulator/ops/families.h"

namespace encore::ptx {
namespace {

// The executor does what these say.
void Nothing(Warp&, const Instruction&, uint32_t) {}

Handler SelectControl(const Instruction& i) {
  using enum Modifier;
  const bool reduces = i.op == Op::kBarRed || i.op == Op::kBarCtaRed ||
                       i.op == Op::kBarrierRed || i.op == Op::kBarrierCtaRed;
  const bool counts = i.Has(kPopc) && i.type == Type::kU32;
  const bool asks = (i.Has(kAnd) || i.Has(kOr)) && i.type == Type::kPred;
  if (reduces && !counts && !asks) return nullptr;
  const bool control = i.instruction_class == InstructionClass::kControl;
  const bool barrier = i.instruction_class == InstructionClass::kBarrier;
  return control || barrier ? &Nothing : nullptr;
}

}  // namespace

Handler SelectHandler(const Instruction& instruction) {
  using Select = Handler (*)(const Instruction&);
  static constexpr Select kFamilies[] = {
      SelectInteger,   SelectFloating, SelectSpecial, SelectHalf,
      SelectLogic,     SelectCompare,  SelectConvert, SelectMove,
      SelectLoadStore, SelectAtomic,   SelectAsync,   SelectCrossLane,
      SelectMatrix,    SelectControl};
  for (const Select select : kFamilies) {
    if (const Handler handler = select(instruction)) return handler;
  }
  return nullptr;
}

}  // namespace encore::ptx
