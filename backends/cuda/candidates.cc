#include "encore/backends/cuda/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/codegen/atomics.h"
#include "encore/backends/cuda/codegen/attention_plan.h"
#include "encore/backends/cuda/codegen/hidden_keys.h"
#include "encore/backends/cuda/codegen/loops/row_loads.h"
#include "encore/backends/cuda/codegen/tile_plan.h"
#include "encore/backends/cuda/codegen/transpose.h"
#include "encore/backends/cuda/library/match.h"
#include "encore/backends/cuda/profile.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/online.h"
#include "encore/backends/region/work.h"
#include "encore/ir/ops/functions.h"

namespace encore::backends::cuda {
namespace {

// Sizes to plan for; none that would make different strides look alike.
std::vector<int64_t> PlannedSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes = TypicalSizes(symbols);
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 2);
  return sizes;
}

// `region` has the symbols of the request's.
std::optional<FlatRegion> FlattenRequest(const KernelRequest& request,
                                         const Region& region) {
  if (region.symbols == 0) return Flatten(region);
  return FlattenSymbolic(region, PlannedSizes(request.symbols));
}

// Shares of a multiprocessor's f32 rate that sums of products reach: a thread
// that reads both factors of each product (assumed); on an H200 attention of
// 2,048 queries and keys in f32, and of f16 on tensor cores. Of f32 as TF32, of
// which they take half as many products, half of that is assumed.
constexpr double kLoopEfficiency = 0.05;
constexpr double kAttentionEfficiency = 0.28;
constexpr double kTensorAttentionEfficiency = 2.7;
// The same of cuBLASLt, without and with tensor cores, 4,096 x 4,096 x 4,096.
constexpr double kLibraryEfficiency = 0.77;
constexpr double kLibraryTensorEfficiency = 10;
constexpr double kStridedCost = 2;

// What f32 products may be rounded to before tensor cores take them, f32 for
// TF32.
std::optional<DType> TensorDType(Precision precision) {
  switch (precision) {
    case Precision::kF16:
      return DType::kF16;
    case Precision::kBF16:
      return DType::kBF16;
    case Precision::kTF32:
      return DType::kF32;
    default:
      return std::nullopt;
  }
}

TileMachine MachineOf(const DeviceProfile& profile) {
  constexpr double kWarp = 32;
  const auto multiprocessors = static_cast<double>(profile.multiprocessors);
  return {
      .multiprocessors = multiprocessors,
      .warps_per_cycle = profile.lanes / kWarp,
      .bytes_per_cycle = profile.bandwidth / (profile.clock * multiprocessors)};
}

// The tiles of that name; nothing where the region has none.
std::optional<TilePlan> TilesOf(const FlatRegion& flat, std::string_view kernel,
                                const CompileOptions& options) {
  const bool split = kernel == kSplitTiles || kernel == kSplitTensorTiles;
  const TileMachine machine = MachineOf(ProfileOf(options));
  if (kernel == kTensorTiles || kernel == kSplitTensorTiles) {
    return MakeTensorPlan(flat, TensorDType(options.precision), machine, split);
  }
  if (kernel != kTiles && kernel != kSplitTiles) return std::nullopt;
  const std::optional<TilePlan> tile = MakeTilePlan(flat, machine);
  if (!tile || !split) return tile;
  return SplitTilePlan(flat, *tile, machine);
}

// Without what the sum of products takes, and what makes its factors: tiles
// have that once for each element of a factor, not for each product.
Work BesideProducts(const FlatRegion& flat, const Work& work) {
  const Region& region = *flat.region;
  const double points =
      TypicalPoints(flat, flat.outer) * TypicalPoints(flat, flat.reduced[0]);
  const std::vector<bool> needed = Reachable(region, {region.stages[0].value});
  Work others = work;
  others.flops -= points;  // the sum
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (!needed[e] || expr.kind != Expr::Kind::kOp) continue;
    others.flops -= points;
    if (FindFunction(expr.op) != nullptr) others.transcendentals -= points;
  }
  others.flops = std::max(0.0, others.flops);
  others.transcendentals =
      std::clamp(others.transcendentals, 0.0, others.flops);
  return others;
}

// Of tiles: of what memory takes and of the plan's cycles, which have those of
// the second launch in them, the longer one.
double TileSeconds(const FlatRegion& flat, const TilePlan& tile,
                   const Work& work, const DeviceProfile& profile) {
  const double launch = LaunchSeconds(profile, {});
  return std::max(LaunchSeconds(profile, BesideProducts(flat, work)),
                  launch + tile.cycles / profile.clock);
}

// Of the region that `attention` is; nothing where there is no such kernel.
std::optional<AttentionPlan> AttentionOf(const AttentionRegion& attention,
                                         std::string_view kernel,
                                         const CompileOptions& options) {
  const int64_t multiprocessors = ProfileOf(options).multiprocessors;
  std::optional<AttentionPlan> plan;
  if (kernel == kAttention) {
    plan = MakeAttentionPlan(attention, multiprocessors);
  } else if (kernel == kTensorAttention) {
    plan = MakeTensorAttentionPlan(attention, TensorDType(options.precision),
                                   multiprocessors);
  }
  // A weight of 0 makes a NaN of a value that is infinite or NaN.
  if (plan && options.rewrites == Rewrites::kFast) {
    plan->skips_hidden = !HiddenKeysCode(attention, [](ExprId) {
                            return std::string("x");
                          }).empty();
  }
  return plan;
}

// Attention in one pass where it is allowed.
std::optional<AttentionRegion> FindAttention(const Region& region,
                                             const CompileOptions& options) {
  if (options.rewrites < Rewrites::kReassociate) return std::nullopt;
  return AttentionRegion::Find(region);
}

// Of attention: of what memory takes and of its products, with what scores are
// made of, the longer one. Weights of several terms are multiplied as often;
// what pieces keep is written and read once more.
double AttentionSeconds(const AttentionRegion& attention,
                        const AttentionPlan& plan, const Work& work,
                        const DeviceProfile& profile) {
  const auto points = [](int64_t a, int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const auto blocks = static_cast<double>(plan.blocks(attention));
  const double busy = std::min(1.0, blocks / profile.multiprocessors);
  const double steps =
      std::ceil(static_cast<double>(attention.keys()) / plan.keys);
  const double products = blocks / plan.pieces * plan.rows * steps * plan.keys *
                          (plan.depth + points(plan.terms, plan.columns));
  const double efficiency = !plan.tensor ? kAttentionEfficiency
                            : *plan.tensor == DType::kF32
                                ? kTensorAttentionEfficiency / 2
                                : kTensorAttentionEfficiency;
  const Work memory{.read_bytes = work.read_bytes,
                    .written_bytes = work.written_bytes};
  double seconds =
      std::max(LaunchSeconds(profile, memory),
               LaunchSeconds(profile, {}) +
                   2 * products / (profile.flops() * efficiency * busy));
  if (plan.pieces > 1) {
    Work parts;
    parts.written_bytes =
        points(attention.head_count() * plan.pieces, attention.row_count()) *
        static_cast<double>(attention.columns() + 2) *
        static_cast<double>(sizeof(float));
    parts.read_bytes = parts.written_bytes;
    seconds += LaunchSeconds(profile, parts);
  }
  return seconds;
}

// A store that waits for the one before, to the same element.
constexpr double kStoreSeconds = 3e-7;

bool MayBeAtomic(const FlatRegion& flat, const CompileOptions& options) {
  switch (OrderOf(flat)) {
    case StoreOrder::kExact:
      return true;
    case StoreOrder::kRounded:
      return options.rewrites == Rewrites::kFast && !options.deterministic;
    case StoreOrder::kFree:
    case StoreOrder::kFixed:
      return false;
  }
  return false;
}

// Rates of the cache that all multiprocessors share over those of memory.
constexpr double kCacheSpeed = 3;

// Of what loops read again, where rows do not stay in their lanes: from the
// cache.
double AgainSeconds(const KernelRequest& request, const FlatRegion& flat,
                    const DeviceProfile& profile) {
  const KernelPlan plan = MakePlan(flat);
  if (plan.launches.size() == 1 && plan.launches[0].steps > 0) return 0;
  const Region& region = *flat.region;
  std::vector<int> stages(region.inputs.size());
  for (uint32_t s = 0; s < region.stages.size(); ++s) {
    std::vector<bool> reads(region.inputs.size());
    for (const uint32_t e : FindRowLoads(flat, std::span(&s, 1), {}).inputs) {
      reads[region.access(ExprId(e)).number] = true;
    }
    for (size_t i = 0; i < reads.size(); ++i) stages[i] += reads[i] ? 1 : 0;
  }
  const std::vector<int64_t> sizes = PlannedSizes(request.symbols);
  double bytes = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] < 2) continue;
    double of_input = BitWidth(region.inputs[i].dtype) / 8.0;
    for (const Dim& dim : region.inputs[i].dims) {
      of_input *= static_cast<double>(dim.Evaluate(sizes).value_or(0));
    }
    bytes += (stages[i] - 1) * of_input;
  }
  return bytes / (kCacheSpeed * profile.bandwidth);
}

// Of what a lane reduces by itself, one element after the other, whatever
// others do: on an H200 a thread that sums 4,096 products takes 110 us in f16
// and 250 in f32, of which several are under way.
double SerialSeconds(const FlatRegion& flat) {
  constexpr double kElementSeconds = 4e-8;
  double elements = 0;
  for (const LaunchPlan& launch : MakePlan(flat).launches) {
    for (const StagePlan& stage : launch.stages) {
      if (flat.reduced[stage.stage].empty() || stage.merges) continue;
      const int lanes = stage.shares_reduction ? launch.lanes() : 1;
      elements +=
          TypicalPoints(flat, flat.reduced[stage.stage]) / stage.pieces / lanes;
    }
  }
  return elements * kElementSeconds;
}

// The region with reductions that read one another as one; nothing where that
// is not allowed, or rows stay in their lanes as they are.
std::optional<Region> OnlineRegion(const KernelRequest& request,
                                   const FlatRegion& flat,
                                   const CompileOptions& options) {
  if (options.rewrites < Rewrites::kReassociate) return std::nullopt;
  const KernelPlan plan = MakePlan(flat);
  if (plan.launches.size() == 1 && plan.launches[0].steps > 0) {
    return std::nullopt;
  }
  return WithOnlineReductions(*request.region);
}

// Of cuBLASLt, which cuts what is reduced into pieces by itself where there is
// little else to cut.
double LibrarySeconds(const FlatRegion& flat, const LibraryRecipe& recipe,
                      const Work& work, const DeviceProfile& profile) {
  const bool plain = recipe.compute == LibraryRecipe::Compute::kF64 ||
                     (recipe.compute == LibraryRecipe::Compute::kF32 &&
                      recipe.a.dtype == DType::kF32);
  const double efficiency =
      plain ? kLibraryEfficiency : kLibraryTensorEfficiency;
  const TileMachine machine = MachineOf(profile);
  const std::optional<TilePlan> tile = MakeTilePlan(flat, machine);
  const auto split = SplitTilePlan(flat, *tile, machine);
  const double blocks = TypicalBlocks(flat, split ? *split : *tile);
  const double busy = std::min(1.0, blocks / profile.multiprocessors);
  const double products = work.contraction_flops / profile.flops();
  return LaunchSeconds(profile, work) +
         products * (1 / (efficiency * busy) - 1);
}

bool AnyString(const Region& region) {
  const auto is_string = [](const auto& of) { return IsString(of.dtype); };
  return std::ranges::any_of(region.inputs, is_string) ||
         std::ranges::any_of(region.outputs, is_string);
}

void Order(std::vector<Candidate>* candidates) {
  std::ranges::sort(*candidates, {}, [](const Candidate& candidate) {
    return std::pair(candidate.seconds, candidate.kernel);
  });
}

// Those that are generated, by estimated cost.
std::vector<Candidate> Generated(const KernelRequest& request,
                                 const FlatRegion& flat, const Work& work,
                                 const CompileOptions& options) {
  const DeviceProfile profile = ProfileOf(options);
  std::vector<Candidate> candidates;
  const auto add = [&](std::string_view name, double seconds) {
    // What sizes come to is known once they are written down.
    if (flat.is_symbolic() && !GenerateCandidate(request, name, options)) {
      return;
    }
    Candidate& candidate = candidates.emplace_back();
    candidate.kernel = name;
    candidate.seconds = seconds;
  };
  for (const std::string_view name :
       {kTiles, kTensorTiles, kSplitTiles, kSplitTensorTiles}) {
    const std::optional<TilePlan> tile = TilesOf(flat, name, options);
    if (tile) add(name, TileSeconds(flat, *tile, work, profile));
  }
  if (const auto attention = FindAttention(*request.region, options)) {
    for (const std::string_view name : {kAttention, kTensorAttention}) {
      const auto plan = AttentionOf(*attention, name, options);
      if (plan) add(name, AttentionSeconds(*attention, *plan, work, profile));
    }
  }
  // Each element that is loaded against the order costs a sector.
  Work strided = work;
  if (FindTranspose(flat)) {
    add(kTranspose, LaunchSeconds(profile, work));
    strided.read_bytes *= kStridedCost;
  }
  const double products = work.contraction_flops / profile.flops();
  if (MayBeAtomic(flat, options)) {
    // What is there first is a launch of its own.
    add(kAtomicLoops,
        LaunchSeconds(profile, work) + LaunchSeconds(profile, {}));
  }
  if (const auto online = OnlineRegion(request, flat, options)) {
    const auto of_online = FlattenRequest(request, *online);
    if (of_online) {
      add(kOnlineLoops, LaunchSeconds(profile, work) +
                            AgainSeconds(request, *of_online, profile));
    }
  }
  const double loops = LaunchSeconds(profile, strided) +
                       AgainSeconds(request, flat, profile) +
                       products * (1 / kLoopEfficiency - 1) +
                       (SerialIterations(flat) - 1) * kStoreSeconds;
  add(kLoops,
      std::max(loops, LaunchSeconds(profile, {}) + SerialSeconds(flat)));
  Order(&candidates);
  return candidates;
}

}  // namespace

std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options) {
  if (AnyString(*request.region)) return {};
  const std::optional<FlatRegion> flat =
      FlattenRequest(request, *request.region);
  if (!flat) return {};
  const Work work =
      EstimateWork(*request.region, PlannedSizes(request.symbols));
  std::vector<Candidate> candidates = Generated(request, *flat, work, options);
  if (options.cuda_kernels == CudaKernels::kGenerated) return candidates;
  const auto recipe = MatchLibrary(*flat, options);
  if (!recipe) return candidates;
  if (options.cuda_kernels == CudaKernels::kLibrary) candidates.clear();
  Candidate& candidate = candidates.emplace_back();
  candidate.kernel = kCublasLtKernel;
  candidate.seconds = LibrarySeconds(*flat, *recipe, work, ProfileOf(options));
  Order(&candidates);
  return candidates;
}

std::optional<LibraryCandidate> FindLibraryCandidate(
    const KernelRequest& request, const CompileOptions& options) {
  const std::optional<FlatRegion> flat =
      FlattenRequest(request, *request.region);
  if (!flat) return std::nullopt;
  std::optional<LibraryRecipe> recipe = MatchLibrary(*flat, options);
  if (!recipe) return std::nullopt;
  const Work work =
      EstimateWork(*request.region, PlannedSizes(request.symbols));
  return LibraryCandidate{*std::move(recipe),
                          Generated(request, *flat, work, options).front()};
}

std::optional<GeneratedKernel> GenerateCandidate(const KernelRequest& request,
                                                 std::string_view kernel,
                                                 const CompileOptions& options,
                                                 const PlanLimits& limits) {
  const std::optional<FlatRegion> flat =
      FlattenRequest(request, *request.region);
  if (!flat) return std::nullopt;
  if (kernel == kOnlineLoops) {
    const auto online = OnlineRegion(request, *flat, options);
    if (!online) return std::nullopt;
    const auto of_online = FlattenRequest(request, *online);
    if (!of_online) return std::nullopt;
    return GenerateKernel(*of_online, limits);
  }
  if (kernel == kLoops) return GenerateKernel(*flat, limits);
  if (kernel == kAtomicLoops) {
    if (!MayBeAtomic(*flat, options)) return std::nullopt;
    return GenerateAtomics(*flat, limits);
  }
  if (kernel == kTranspose) {
    const std::optional<TransposePlan> transpose = FindTranspose(*flat);
    if (!transpose) return std::nullopt;
    return GenerateTranspose(*flat, *transpose);
  }
  if (kernel == kAttention || kernel == kTensorAttention) {
    const auto attention = FindAttention(*request.region, options);
    if (!attention) return std::nullopt;
    const auto plan = AttentionOf(*attention, kernel, options);
    if (!plan) return std::nullopt;
    return GenerateAttention(*attention, *plan);
  }
  const std::optional<TilePlan> tile = TilesOf(*flat, kernel, options);
  if (!tile) return std::nullopt;
  return GenerateTiles(*flat, *tile);
}

}  // namespace encore::backends::cuda
