#include "encore/backends/cpu/kernel_generator.h"

#include <optional>
#include <utility>

#include "encore/backends/cpu/attention/codegen.h"
#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/plane_tiles.h"
#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/staged_codegen.h"
#include "encore/backends/cpu/codegen/tile_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/codegen/window_tiles.h"
#include "encore/backends/cpu/inner/codegen.h"
#include "encore/backends/cpu/inner/schedule.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/codegen.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/weights.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/flat/in_place.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cpu {
namespace {

class Generator {
 public:
  explicit Generator(const KernelSpec& spec) : spec_(spec) {}

  StatusOr<RelocatableKernel> Run() {
    const std::optional<FlatRegion> flat = FlattenRequest(spec_.kernel);
    if (!flat) return InternalError("a region without a kernel");
    if (spec_.candidate == kVendor) {
      ENCORE_RETURN_IF_ERROR(AddVendor());
      return std::move(kernel_);
    }
    GeneratedKernel generated;
    if (const auto name = WinogradName::Parse(spec_.candidate)) {
      ENCORE_ASSIGN_OR_RETURN(generated, AddWinograd(*name));
    } else if (const auto attention = AttentionName::Parse(spec_.candidate)) {
      ENCORE_ASSIGN_OR_RETURN(generated, Attention(*attention));
    } else if (spec_.candidate == kTiles) {
      const auto tile =
          MakeTileSchedule(*flat, spec_.kernel.weights, spec_.isa);
      if (!tile) return InternalError("a region without tiles");
      ENCORE_ASSIGN_OR_RETURN(generated, AddTiles(*flat, *tile));
    } else if (spec_.candidate == kInner) {
      const auto inner =
          MakeInnerSchedule(*flat, spec_.kernel.weights, spec_.isa);
      if (!inner) return InternalError("a region without inner sums");
      ENCORE_ASSIGN_OR_RETURN(generated, AddInner(*flat, *inner));
    } else {
      const std::optional<LoopPlan> loops = LoopsOf(spec_.kernel, spec_.isa);
      generated = GenerateLoops(*loops, kRelocatableName, bits());
    }
    kernel_.scratch = generated.scratch_bytes;
    kernel_.in_place = InPlacePairs(*flat);
    kernel_.code = AddFunction(generated);
    return std::move(kernel_);
  }

 private:
  int bits() const { return VectorBits(spec_.isa); }

  GeneratedKernel Loops(const Region& region) const {
    return GenerateLoops(PlanLoops(region, spec_.isa), kRelocatableName,
                         bits());
  }

  StatusOr<GeneratedKernel> AddTiles(const FlatRegion& flat,
                                     const TileSchedule& tile) {
    if (tile.in_place) {
      return GenerateWindowTiles(flat, tile, kRelocatableName, bits());
    }
    if (tile.plane_rows > 0) {
      return GeneratePlaneTiles(flat, tile, kRelocatableName, bits());
    }
    ENCORE_RETURN_IF_ERROR(AddPanels(tile));
    const Region& region =
        tile.staging ? tile.staging->region : *spec_.kernel.region;
    const std::optional<FlatRegion> planned = Flatten(region);
    const Region packed = WithPanels(region, tile);
    const std::optional<FlatRegion> with_panels =
        planned ? FlattenPanels(packed, *planned) : std::nullopt;
    if (!with_panels) return InternalError("packed panels do not flatten");
    return tile.staging
               ? GenerateStagedTiles(flat, *with_panels, tile, kRelocatableName,
                                     bits())
               : GenerateTiles(*with_panels, tile, kRelocatableName, bits());
  }

  StatusOr<GeneratedKernel> AddInner(const FlatRegion& flat,
                                     const InnerSchedule& inner) {
    ENCORE_RETURN_IF_ERROR(AddPanels(inner.tile));
    const Region packed = WithPanels(*spec_.kernel.region, inner.tile);
    const std::optional<FlatRegion> with_panels = FlattenPanels(packed, flat);
    if (!with_panels) return InternalError("packed factors do not flatten");
    return GenerateInner(*with_panels, inner, kRelocatableName, bits());
  }

  Status AddPanels(const TileSchedule& tile) {
    for (const TileSchedule::Panel& panel : tile.panels) {
      RelocatableKernel::Packing packed;
      packed.input = panel.input;
      const Region region =
          PackRegion(*spec_.kernel.region, panel, &packed.bytes);
      packed.code = AddFunction(Loops(region));
      kernel_.packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  StatusOr<GeneratedKernel> AddWinograd(const WinogradName& name) {
    const auto sum = SumRegion::Find(*spec_.kernel.region);
    if (!sum) return InternalError("a region without a sum of products");
    const auto windows = FindWindowedSum(*sum, spec_.kernel.weights);
    if (!windows) return InternalError("a region without windows");
    const WinogradSchedule schedule =
        MakeWinogradSchedule(*windows, name, spec_.isa);
    RelocatableKernel::Packing packed;
    packed.input = windows->weights;
    packed.bytes = schedule.weights_bytes(*windows);
    packed.code = AddFunction(
        GenerateWinogradWeights(*windows, schedule, kRelocatableName, bits()));
    kernel_.packed.push_back(std::move(packed));
    return GenerateWinograd(*sum, *windows, schedule, kRelocatableName, bits());
  }

  StatusOr<GeneratedKernel> Attention(const AttentionName& name) const {
    const auto attention = AttentionRegion::Find(*spec_.kernel.region);
    if (!attention) return InternalError("a region without attention");
    return GenerateAttention(*attention,
                             MakeAttentionSchedule(*attention, name, spec_.isa),
                             kRelocatableName, bits());
  }

  // The library's part as params, the epilogue as a function.
  Status AddVendor() {
    std::optional<VendorMatch> match =
        MatchVendor(*spec_.kernel.region, spec_.kernel.weights);
    if (!match) return InternalError("a region without a vendor's kernel");
    VendorProgram& program = match->program;
    if (match->epilogue) {
      const GeneratedKernel generated = Loops(*match->epilogue);
      kernel_.code = AddFunction(generated);
      program.epilogue = ParamsOf(generated);
      program.epilogue_scratch = generated.scratch_bytes.constant();
    }
    ENCORE_RETURN_IF_ERROR(CompleteVendor(match->pack, &program));
    kernel_.scratch = Dim(program.scratch_bytes);
    kernel_.code.params = Encode(program, /*packs=*/false);
    if (program.packed_bytes > 0) {
      VendorProgram pack = program;
      pack.epilogue.reset();
      RelocatableKernel::Packing packed;
      packed.input = program.weights.buffer;
      packed.bytes = program.packed_bytes;
      packed.code.params = Encode(pack, /*packs=*/true);
      kernel_.packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  static GeneratedParams ParamsOf(const GeneratedKernel& generated) {
    return {.helper_version = generated.helper_version,
            .partitions = generated.partitions,
            .any_partitions = generated.any_partitions ? 1 : 0};
  }

  RelocatableKernel::Code AddFunction(const GeneratedKernel& generated) {
    RelocatableKernel::Code code;
    code.function = static_cast<uint32_t>(kernel_.functions.size());
    code.params = Encode(ParamsOf(generated));
    kernel_.functions.push_back(generated.ir);
    return code;
  }

  const KernelSpec& spec_;
  RelocatableKernel kernel_;
};

}  // namespace

StatusOr<RelocatableKernel> GenerateKernel(const KernelSpec& spec) {
  return Generator(spec).Run();
}

}  // namespace encore::backends::cpu
