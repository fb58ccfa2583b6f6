#include "encore/backends/cpu/vendor/match.h"

#include <cstdint>
#include <utility>

#include "encore/backends/cpu/vendor/contraction.h"
#include "encore/backends/cpu/vendor/epilogue.h"
#include "encore/backends/cpu/vendor/match_convolution.h"
#include "encore/backends/cpu/vendor/match_dot.h"
#include "encore/backends/cpu/vendor/pieces.h"
#include "encore/backends/cpu/vendor/sum_region.h"

namespace encore::backends::cpu {

std::optional<VendorMatch> MatchVendor(const Region& region,
                                       const std::vector<bool>& weights) {
  const std::optional<SumRegion> sum = SumRegion::Find(region);
  if (!sum) return std::nullopt;
  std::optional<VendorContraction> found = MatchDot(*sum, weights);
  if (!found) found = MatchConvolution(*sum, weights);
  if (!found) return std::nullopt;
  VendorMatch match;
  match.program = std::move(found->program);
  match.pack = found->pack;
  VendorProgram& program = match.program;
  program.source.buffer = sum->Load(found->source).number;
  program.weights.buffer = sum->Load(found->weights).number;
  program.sums_in_scratch = sum->sums_in_scratch();
  program.result.buffer = static_cast<uint32_t>(
      region.inputs.size() +
      (program.sums_in_scratch ? region.outputs.size() : 0));
  const bool epilogue = sum->HasEpilogue();
  CutPieces(epilogue, &program);
  if (epilogue) {
    match.epilogue =
        MakeEpilogue(*sum, found->result_variables[program.split], &program);
  }
  return match;
}

}  // namespace encore::backends::cpu
