#include "encore/backends/cpu/cpu_backend.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/codegen/flat_region.h"
#include "encore/backends/cpu/codegen/region_codegen.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/tile.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/device.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/work.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr double kCyclesPerSecond = 3e9;
constexpr double kLaunchSeconds = 1e-7;
// Stands for a kernel's name until its text is complete.
constexpr char kName[] = "kernel";
// Kernels by template: loops over vectors, and register tiles.
constexpr char kLoops[] = "loops";
constexpr char kTiles[] = "tiles";
// By oneDNN.
constexpr char kVendor[] = "onednn";
// Regions of run-time sizes.
constexpr char kInterpreter[] = "interpreter";
constexpr double kInterpretedSeconds = 50e-9;

// Calling the library for one piece.
constexpr double kPieceSeconds = 1.5e-6;
// Planned for where results, and so what is chosen, must not depend on it.
constexpr int kDeterministicThreads = 2;

// Threads to compile with.
int Threads(const CompileOptions& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  return std::max(1u, std::thread::hardware_concurrency());
}

// Threads that kernels are chosen for.
int PlannedThreads(const CompileOptions& options) {
  return options.deterministic ? kDeterministicThreads : Threads(options);
}

// What code is generated for: the instruction set that the target names
// ("cpu:avx2"), else the widest that this machine has.
Isa IsaOf(const CompileOptions& options) {
  const size_t colon = options.target.find(':');
  if (colon == std::string::npos) return HostCpu().isa;
  return ParseIsa(std::string_view(options.target).substr(colon + 1))
      .value_or(HostCpu().isa);
}

// The library serves the machine that it runs on, and packs weights for it.
bool MayUseVendor(const CompileOptions& options) {
  return IsaOf(options) == HostCpu().isa;
}

bool AllComputed(const Region& region) {
  const auto computed = [](const auto& thing) {
    return IsComputed(thing.dtype);
  };
  return std::all_of(region.inputs.begin(), region.inputs.end(), computed) &&
         std::all_of(region.outputs.begin(), region.outputs.end(), computed) &&
         std::all_of(region.exprs.begin(), region.exprs.end(), computed);
}

// The form for kLoops.
std::optional<FlatRegion> FlattenLoops(const Region& region) {
  return Flatten(region, /*repeats=*/true);
}

// Whether every load of `input` is of the element that `store` writes.
bool LoadsOnly(const FlatRegion& flat, uint32_t input,
               const FlatAccess& store) {
  bool any = false;
  for (size_t a = 0; a < flat.loads.size(); ++a) {
    const Access& access = flat.region->accesses[a];
    if (access.source != Access::Source::kInput || access.number != input) {
      continue;
    }
    any = true;
    const FlatAccess& load = flat.loads[a];
    if (!load.dynamic.empty() || load.address.offset != store.address.offset ||
        load.address.terms != store.address.terms) {
      return false;
    }
  }
  return any;
}

std::vector<runtime::Launch::InPlace> InPlacePairs(const FlatRegion& flat) {
  const Region& region = *flat.region;
  std::vector<runtime::Launch::InPlace> pairs;
  if (region.stages.size() != 1 || !region.stages[0].loops.empty() ||
      region.stages[0].kind != Stage::Kind::kMap) {
    return pairs;
  }
  const std::vector<Store>& stores = region.stages[0].stores;
  for (size_t s = 0; s < stores.size(); ++s) {
    const DType dtype = region.outputs[stores[s].output].dtype;
    if (stores[s].update != Update::kSet ||
        !flat.stores[0][s].dynamic.empty()) {
      continue;
    }
    for (uint32_t i = 0; i < region.inputs.size(); ++i) {
      if (BitWidth(region.inputs[i].dtype) == BitWidth(dtype) &&
          LoadsOnly(flat, i, flat.stores[0][s])) {
        pairs.push_back({i, stores[s].output});
      }
    }
  }
  return pairs;
}

// The vendor's kernel for the region, if its library has one.
std::optional<VendorMatch> FindVendor(const KernelRequest& request) {
  if (VendorVersion() == "none" || HostCpu().isa == Isa::kNone) return {};
  return MatchVendor(*request.region, request.weights);
}

bool HasVendor(const KernelRequest& request) {
  std::optional<VendorMatch> match = FindVendor(request);
  return match && CompleteVendor(match->pack, &match->program).ok();
}

// Adds the vendor's kernel: first where, by the table of efficiencies, it saves
// more than it costs to load, else last. The library is loaded for the former
// only.
void AddVendor(const KernelRequest& request, int threads,
               std::vector<Candidate>* candidates) {
  std::optional<VendorMatch> match = FindVendor(request);
  if (!match) return;
  const Isa isa = HostCpu().isa;
  const auto seconds = [&](KernelFamily family) {
    return LaunchSeconds(family, isa, match->program, match->pack);
  };
  const double generated = seconds(KernelFamily::kGenerated) / threads;
  const int64_t pieces = match->program.pieces();
  const auto parallel = static_cast<double>(std::min<int64_t>(pieces, threads));
  const double vendor = (seconds(KernelFamily::kVendor) +
                         static_cast<double>(pieces) * kPieceSeconds) /
                        parallel;
  Candidate candidate;
  candidate.kernel = kVendor;
  candidate.seconds = kLaunchSeconds + vendor;
  candidate.load_seconds = VendorLoadSeconds(match->program);
  for (Candidate& other : *candidates) {
    other.seconds = std::max(other.seconds, kLaunchSeconds + generated);
  }
  const bool first =
      (generated - vendor) * kLaunchesPerLoad >= candidate.load_seconds &&
      CompleteVendor(match->pack, &match->program).ok();
  candidates->insert(first ? candidates->begin() : candidates->end(),
                     std::move(candidate));
}

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

class Cpu : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const override {
    CpuInfo cpu = HostCpu();
    cpu.isa = IsaOf(options);
    return {
        {"cpu", cpu.Fingerprint()},
        {"codegen", "2"},
        {"onednn", MayUseVendor(options) ? VendorVersion() : "none"},
        {"threads", options.deterministic ? "any" : StrCat(Threads(options))}};
  }
  // Everything is computed in the graph's dtypes, and no rewrite is tagged.
  bool Uses(std::string_view option) const override {
    return option != "precision" && option != "rewrites";
  }
  std::vector<std::string> variants() const override {
    return {std::string(Name(Isa::kAvx2)), std::string(Name(Isa::kAvx512))};
  }
  std::span<const DType> dtypes() const override {
    static const auto* const computed = [] {
      auto* list = new std::vector<DType>;
      for (const DType dtype : AllDTypes()) {
        if (IsComputed(dtype)) list->push_back(dtype);
      }
      return list;
    }();
    return *computed;
  }
  bool supports_symbolic_sizes() const override { return false; }
  bool uses_host_memory() const override { return true; }
  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override;
  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override;
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return cpu::NewDevice(ordinal);
  }
};

// Sizes to plan for; none that would make different strides look alike.
std::vector<int64_t> PlannedSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes = TypicalSizes(symbols);
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 2);
  return sizes;
}

// Regions whose sizes are found out: loops, or the interpreter.
std::vector<Candidate> Symbolic(const KernelRequest& request,
                                const CompileOptions& options) {
  const std::vector<int64_t> sizes = PlannedSizes(request.symbols);
  std::vector<Candidate> candidates;
  if (const auto flat = FlattenSymbolic(*request.region, sizes)) {
    Candidate& loops = candidates.emplace_back();
    loops.kernel = kLoops;
    loops.seconds =
        kLaunchSeconds +
        MakeSchedule(*flat, IsaOf(options)).cycles / kCyclesPerSecond;
  }
  Candidate& interpreter = candidates.emplace_back();
  interpreter.kernel = kInterpreter;
  interpreter.seconds =
      kLaunchSeconds +
      kInterpretedSeconds * EstimateWork(*request.region, sizes).flops;
  return candidates;
}

std::vector<Candidate> Cpu::Candidates(const KernelRequest& request,
                                       const CompileOptions& options) const {
  if (!AllComputed(*request.region)) return {};
  if (request.region->symbols > 0) return Symbolic(request, options);
  const std::optional<FlatRegion> flat = Flatten(*request.region);
  if (!flat) return {};
  const Isa isa = IsaOf(options);
  std::vector<Candidate> candidates;
  const auto add = [&](std::string_view name, double cycles,
                       int64_t partitions) {
    const auto parallel = static_cast<double>(
        std::min<int64_t>(partitions, PlannedThreads(options)));
    Candidate& candidate = candidates.emplace_back();
    candidate.kernel = name;
    candidate.seconds = kLaunchSeconds + cycles / kCyclesPerSecond / parallel;
  };
  if (options.cpu_kernels == CpuKernels::kVendor && MayUseVendor(options) &&
      HasVendor(request)) {
    return {{kVendor, kLaunchSeconds, 0, {}, {}}};
  }
  const Schedule loops = MakeSchedule(*FlattenLoops(*request.region), isa);
  add(kLoops, loops.cycles, loops.partitions);
  if (const auto tile = MakeTileSchedule(*flat, request.weights, isa)) {
    add(kTiles, tile->cycles, tile->partitions);
    if (candidates[1].seconds < candidates[0].seconds) {
      std::swap(candidates[0], candidates[1]);
    }
  }
  if (options.cpu_kernels == CpuKernels::kAuto && MayUseVendor(options)) {
    AddVendor(request, PlannedThreads(options), &candidates);
  }
  return candidates;
}

// Collects functions; the image and its digest come at the end.
class ModuleBuilder {
 public:
  ModuleBuilder(Isa isa, CompiledModule* module) : isa_(isa), module_(module) {}

  Status AddKernel(const CompileRequest& request) {
    CompiledKernel& kernel = module_->kernels.emplace_back();
    if (request.candidate.kernel == kInterpreter) {
      kernel.program.entry = kInterpretedEntry;
      interpreted_.emplace_back(module_->kernels.size() - 1,
                                EncodeRegion(*request.kernel.region));
      return OkStatus();
    }
    std::optional<FlatRegion> flat =
        request.kernel.region->symbols > 0
            ? FlattenSymbolic(*request.kernel.region,
                              PlannedSizes(request.kernel.symbols))
            : Flatten(*request.kernel.region);
    if (!flat) return InternalError("a region without a kernel");
    if (request.candidate.kernel == kVendor) return AddVendor(request, &kernel);
    GeneratedKernel generated;
    if (request.candidate.kernel == kTiles) {
      const auto tile = MakeTileSchedule(*flat, request.kernel.weights, isa_);
      if (!tile) return InternalError("a region without tiles");
      ENCORE_ASSIGN_OR_RETURN(generated,
                              AddTiles(request, *flat, *tile, &kernel));
    } else {
      const std::optional<FlatRegion> loops =
          flat->is_symbolic() ? flat : FlattenLoops(*request.kernel.region);
      generated = GenerateRegion(*loops, MakeSchedule(*loops, isa_), kName,
                                 VectorBits(isa_));
    }
    kernel.scratch = generated.scratch_bytes;
    kernel.in_place = InPlacePairs(*flat);
    kernel.program = AddFunction(generated);
    return OkStatus();
  }

  Status Finish(int threads) {
    if (!functions_.modules().empty()) {
      ENCORE_RETURN_IF_ERROR(AddImage(threads));
    }
    for (auto& [kernel, region] : interpreted_) {
      module_->kernels[kernel].program.artefact =
          static_cast<int>(module_->artefacts.size());
      module_->artefacts.push_back({std::move(region), /*executable=*/false});
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
      if (kernel.program.entry == kInterpretedEntry) continue;
      SetDigest(digest, &kernel.program);
      for (PackedInput& packed : kernel.packed) {
        SetDigest(digest, &packed.program);
      }
    }
    module_->artefacts.push_back({std::move(image), /*executable=*/true});
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
    const Region packed = WithPanels(
        tile.staging ? tile.staging->region : *request.kernel.region, tile);
    const std::optional<FlatRegion> with_panels = Flatten(packed);
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
      packed.program = AddFunction(GenerateRegion(
          *flat, MakeSchedule(*flat, isa_), kName, VectorBits(isa_)));
      kernel->packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  // The library's part as params, what follows it as a function.
  Status AddVendor(const CompileRequest& request, CompiledKernel* kernel) {
    std::optional<VendorMatch> match =
        MatchVendor(*request.kernel.region, request.kernel.weights);
    if (!match) return InternalError("a region without a vendor's kernel");
    VendorProgram& program = match->program;
    if (match->epilogue) {
      const std::optional<FlatRegion> flat = Flatten(*match->epilogue);
      if (!flat) return InternalError("what follows a sum does not flatten");
      const GeneratedKernel generated = GenerateRegion(
          *flat, MakeSchedule(*flat, isa_), kName, VectorBits(isa_));
      kernel->program = AddFunction(generated);
      ENCORE_ASSIGN_OR_RETURN(program.epilogue,
                              DecodeGenerated(kernel->program.params));
      program.epilogue_scratch = generated.scratch_bytes.constant();
    }
    ENCORE_RETURN_IF_ERROR(CompleteVendor(match->pack, &program));
    kernel->scratch = Dim(program.scratch_bytes);
    SetVendor(program, /*packs=*/false, &kernel->program);
    if (program.packed_bytes > 0) {
      VendorProgram pack = program;
      pack.epilogue.reset();
      PackedInput packed;
      packed.input = program.weights.buffer;
      packed.bytes = program.packed_bytes;
      SetVendor(pack, /*packs=*/true, &packed.program);
      kernel->packed.push_back(std::move(packed));
    }
    return OkStatus();
  }

  void SetVendor(const VendorProgram& vendor, bool packs,
                 KernelProgram* program) const {
    program->params = Encode(vendor, packs);
    program->requirements.assign(1, std::string(VendorRequirement()));
    for (const std::string_view feature : RequiredFeatures(isa_)) {
      program->requirements.emplace_back(feature);
    }
  }

  KernelProgram AddFunction(const GeneratedKernel& generated) {
    KernelProgram program;
    program.artefact = 0;
    program.entry = functions_.Add(generated.ir);
    for (const std::string_view feature : RequiredFeatures(isa_)) {
      program.requirements.emplace_back(feature);
    }
    program.params = Encode(
        GeneratedParams{.helper_version = kHelperVersion,
                        .partitions = generated.partitions,
                        .any_partitions = generated.any_partitions ? 1 : 0});
    return program;
  }

  static void SetDigest(uint64_t digest, KernelProgram* program) {
    if (program->artefact < 0) return;
    if (IsVendor(program->params)) {
      StatusOr<DecodedVendor> vendor = DecodeVendor(program->params);
      ENCORE_CHECK_OK(vendor.status());
      vendor->program.epilogue->image_digest = digest;
      program->params = Encode(vendor->program, /*packs=*/false);
      return;
    }
    StatusOr<GeneratedParams> params = DecodeGenerated(program->params);
    ENCORE_CHECK_OK(params.status());
    params->image_digest = digest;
    program->params = Encode(*params);
  }

  Isa isa_;
  CompiledModule* module_;
  FunctionSet functions_;
  // Kernel number and encoded region.
  std::vector<std::pair<size_t, std::vector<std::byte>>> interpreted_;
};

StatusOr<CompiledModule> Cpu::Compile(std::span<const CompileRequest> requests,
                                      const CompileOptions& options,
                                      ArtifactStore* store) const {
  CompiledModule module;
  if (requests.empty()) return module;
  ModuleBuilder builder(IsaOf(options), &module);
  for (const CompileRequest& request : requests) {
    ENCORE_RETURN_IF_ERROR(builder.AddKernel(request));
  }
  ENCORE_RETURN_IF_ERROR(builder.Finish(Threads(options)));
  return module;
}

}  // namespace

const Backend* CpuBackend() {
  static const Cpu* const backend = new Cpu;
  return backend;
}

}  // namespace encore::backends::cpu
