#include "encore/backends/cpu/module_builder.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/codegen/plane_tiles.h"
#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/staged_codegen.h"
#include "encore/backends/cpu/codegen/tile_codegen.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/flat/in_place.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

// Stands for a kernel's name until its text is complete.
constexpr char kName[] = "kernel";

// The different functions of a module, each once.
class FunctionSet {
 public:
  // The entry of the function whose text is `ir` with kName as its name.
  std::string Add(const std::string& ir) {
    const auto [at, is_new] = entries_.emplace(ir, "");
    if (!is_new) return at->second;
    at->second = StrCat("k", modules_.size());
    const std::string head = StrCat("@", kName, "(");
    std::string text = ir;
    text.replace(text.find(head), head.size(), StrCat("@", at->second, "("));
    modules_.push_back(std::move(text));
    return at->second;
  }
  const std::vector<std::string>& modules() const { return modules_; }

 private:
  std::map<std::string, std::string> entries_;
  std::vector<std::string> modules_;
};

// Collects functions; the image and its digest come at the end.
class ModuleBuilder {
 public:
  ModuleBuilder(Isa isa, CompiledModule* module) : isa_(isa), module_(module) {}

  Status AddKernel(const CompileRequest& request) {
    CompiledKernel& kernel = module_->kernels.emplace_back();
    if (request.candidate.kernel == kInterpreter) {
      kernel.code.entry = kInterpretedEntry;
      interpreted_.emplace_back(module_->kernels.size() - 1,
                                EncodeRegion(*request.kernel.region));
      return OkStatus();
    }
    const std::optional<FlatRegion> flat = FlattenRequest(request.kernel);
    if (!flat) return InternalError("a region without a kernel");
    if (request.candidate.kernel == kVendor) return AddVendor(request, &kernel);
    GeneratedKernel generated;
    if (request.candidate.kernel == kTiles) {
      const auto tile = MakeTileSchedule(*flat, request.kernel.weights, isa_);
      if (!tile) return InternalError("a region without tiles");
      ENCORE_ASSIGN_OR_RETURN(generated,
                              AddTiles(request, *flat, *tile, &kernel));
    } else {
      const std::optional<FlatRegion> loops = FlattenLoops(request.kernel);
      generated = GenerateRegion(*loops, MakeSchedule(*loops, isa_), kName,
                                 VectorBits(isa_));
    }
    kernel.scratch = generated.scratch_bytes;
    kernel.in_place = InPlacePairs(*flat);
    kernel.code = AddFunction(generated);
    return OkStatus();
  }

  Status Finish(int threads) {
    if (!functions_.modules().empty()) {
      ENCORE_RETURN_IF_ERROR(AddImage(threads));
    }
    for (auto& [kernel, region] : interpreted_) {
      module_->kernels[kernel].code.artifact =
          static_cast<int>(module_->artifacts.size());
      module_->artifacts.push_back({std::move(region), /*executable=*/false});
    }
    return OkStatus();
  }

 private:
  Status AddImage(int threads) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<std::byte> image,
                            CompileImage(functions_.modules(), isa_, threads));
    ENCORE_RETURN_IF_ERROR(Image::Verify(image));
    const uint64_t digest = ImageDigest(image);
    for (CompiledKernel& kernel : module_->kernels) {
      if (kernel.code.entry == kInterpretedEntry) continue;
      SetDigest(digest, &kernel.code);
      for (PackedInput& packed : kernel.packed) {
        SetDigest(digest, &packed.code);
      }
    }
    module_->artifacts.push_back({std::move(image), /*executable=*/true});
    return OkStatus();
  }

  StatusOr<GeneratedKernel> AddTiles(const CompileRequest& request,
                                     const FlatRegion& flat,
                                     const TileSchedule& tile,
                                     CompiledKernel* kernel) {
    const int bits = VectorBits(isa_);
    if (tile.plane_rows > 0) {
      return GeneratePlaneTiles(flat, tile, kName, bits);
    }
    ENCORE_RETURN_IF_ERROR(AddPanels(request, tile, kernel));
    const Region& region =
        tile.staging ? tile.staging->region : *request.kernel.region;
    const std::optional<FlatRegion> planned = Flatten(region);
    const Region packed = WithPanels(region, tile);
    const std::optional<FlatRegion> with_panels =
        planned ? FlattenPanels(packed, *planned) : std::nullopt;
    if (!with_panels) return InternalError("packed panels do not flatten");
    return tile.staging
               ? GenerateStagedTiles(flat, *with_panels, tile, kName, bits)
               : GenerateTiles(*with_panels, tile, kName, bits);
  }

  Status AddPanels(const CompileRequest& request, const TileSchedule& tile,
                   CompiledKernel* kernel) {
    for (const TileSchedule::Panel& panel : tile.panels) {
      PackedInput packed;
      packed.input = panel.input;
      const Region region =
          PackRegion(*request.kernel.region, panel, &packed.bytes);
      const std::optional<FlatRegion> flat = Flatten(region);
      if (!flat) return InternalError("a panel that cannot be packed");
      packed.code = AddFunction(GenerateRegion(*flat, MakeSchedule(*flat, isa_),
                                               kName, VectorBits(isa_)));
      kernel->packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  // The library's part as params, the epilogue as a function.
  Status AddVendor(const CompileRequest& request, CompiledKernel* kernel) {
    std::optional<VendorMatch> match =
        MatchVendor(*request.kernel.region, request.kernel.weights);
    if (!match) return InternalError("a region without a vendor's kernel");
    VendorProgram& program = match->program;
    if (match->epilogue) {
      const std::optional<FlatRegion> flat = Flatten(*match->epilogue);
      if (!flat) return InternalError("the epilogue does not flatten");
      const GeneratedKernel generated = GenerateRegion(
          *flat, MakeSchedule(*flat, isa_), kName, VectorBits(isa_));
      kernel->code = AddFunction(generated);
      ENCORE_ASSIGN_OR_RETURN(program.epilogue,
                              DecodeGenerated(kernel->code.params));
      program.epilogue_scratch = generated.scratch_bytes.constant();
    }
    ENCORE_RETURN_IF_ERROR(CompleteVendor(match->pack, &program));
    kernel->scratch = Dim(program.scratch_bytes);
    SetVendor(program, /*packs=*/false, &kernel->code);
    if (program.packed_bytes > 0) {
      VendorProgram pack = program;
      pack.epilogue.reset();
      PackedInput packed;
      packed.input = program.weights.buffer;
      packed.bytes = program.packed_bytes;
      SetVendor(pack, /*packs=*/true, &packed.code);
      kernel->packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  void SetVendor(const VendorProgram& vendor, bool packs,
                 KernelCode* code) const {
    code->params = Encode(vendor, packs);
    code->requirements.assign(1, std::string(VendorRequirement()));
    for (const std::string_view feature : RequiredFeatures(isa_)) {
      code->requirements.emplace_back(feature);
    }
  }

  KernelCode AddFunction(const GeneratedKernel& generated) {
    KernelCode code;
    code.artifact = 0;
    code.entry = functions_.Add(generated.ir);
    for (const std::string_view feature : RequiredFeatures(isa_)) {
      code.requirements.emplace_back(feature);
    }
    code.params = Encode(
        GeneratedParams{.helper_version = generated.helper_version,
                        .partitions = generated.partitions,
                        .any_partitions = generated.any_partitions ? 1 : 0});
    return code;
  }

  static void SetDigest(uint64_t digest, KernelCode* code) {
    if (code->artifact < 0) return;
    if (IsVendor(code->params)) {
      StatusOr<DecodedVendor> vendor = DecodeVendor(code->params);
      ENCORE_CHECK_OK(vendor.status());
      vendor->program.epilogue->image_digest = digest;
      code->params = Encode(vendor->program, /*packs=*/false);
      return;
    }
    StatusOr<GeneratedParams> params = DecodeGenerated(code->params);
    ENCORE_CHECK_OK(params.status());
    params->image_digest = digest;
    code->params = Encode(*params);
  }

  Isa isa_;
  CompiledModule* module_;
  FunctionSet functions_;
  // Kernel number and encoded region.
  std::vector<std::pair<size_t, std::vector<std::byte>>> interpreted_;
};

}  // namespace

StatusOr<CompiledModule> BuildModule(std::span<const CompileRequest> requests,
                                     Isa isa, int threads) {
  CompiledModule module;
  if (requests.empty()) return module;
  ModuleBuilder builder(isa, &module);
  for (const CompileRequest& request : requests) {
    ENCORE_RETURN_IF_ERROR(builder.AddKernel(request));
  }
  ENCORE_RETURN_IF_ERROR(builder.Finish(threads));
  return module;
}

}  // namespace encore::backends::cpu
