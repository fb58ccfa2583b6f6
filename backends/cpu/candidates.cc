#include "encore/backends/cpu/candidates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/attention/scratch.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/estimates.h"
#include "encore/backends/cpu/inner/schedule.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/scratch.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/work.h"

namespace encore::backends::cpu {
namespace {

// Planned for where results, and so what is chosen, must not depend on it.
constexpr int kDeterministicThreads = 2;

int ThreadsOfChoice(const CompileOptions& options) {
  return options.deterministic ? kDeterministicThreads
                               : PlannedThreads(options);
}

bool AllComputed(const Region& region) {
  const auto computed = [](const auto& thing) {
    return IsComputed(thing.dtype);
  };
  return std::all_of(region.inputs.begin(), region.inputs.end(), computed) &&
         std::all_of(region.outputs.begin(), region.outputs.end(), computed) &&
         std::all_of(region.exprs.begin(), region.exprs.end(), computed);
}

// Whether an operand has elements that share bytes, which panels and planes
// have no form for.
bool AnyPacked(const Region& region) {
  const auto packed = [](const Operand& operand) {
    return IsPacked(operand.dtype);
  };
  return std::ranges::any_of(region.inputs, packed) ||
         std::ranges::any_of(region.outputs, packed);
}

// The vendor's kernel for the region, if its library has one.
std::optional<VendorMatch> FindVendor(const KernelRequest& request) {
  if (!request.region->checks.empty()) return {};
  if (VendorVersion() == "none" || HostCpu().isa == Isa::kNone) return {};
  return MatchVendor(*request.region, request.weights);
}

// Whether the library computes this, or should but cannot be loaded: compiling
// then says why. A plan without it would be kept under the key of one with it.
bool VendorComputes(const VendorMatch& match) {
  switch (CheckVendor(match.pack, match.program).code()) {
    case StatusCode::kOk:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

// The vendor's kernel, unless the library, which is loaded for it, has none, or
// it is too dear to be worth that.
void AddVendor(const KernelRequest& request, const CompileOptions& options,
               const Estimates& estimates, std::vector<Candidate>* candidates) {
  const std::optional<VendorMatch> match = FindVendor(request);
  if (!match) return;
  Candidate candidate;
  candidate.kernel = kVendor;
  candidate.seconds = estimates.Vendor(match->program, match->pack);
  candidate.load_seconds = VendorLoadSeconds(match->program);
  if (match->pack) candidate.memory_bytes = BytesNeeded(match->program.weights);
  const double seconds = CallSeconds(candidate, options);
  for (const Candidate& other : *candidates) {
    if (seconds > kWorthTiming * CallSeconds(other, options)) return;
  }
  if (!VendorComputes(*match)) return;
  candidates->push_back(std::move(candidate));
}

// Elements of a line that a partition of Winograd's kernels has in scratch
// memory, at most: signals are longer than lines of images.
constexpr int64_t kMostLinePitch = 64 << 10;

// Winograd's kernels where they are allowed.
void AddWinograd(const KernelRequest& request, const CompileOptions& options,
                 const Estimates& estimates,
                 std::vector<Candidate>* candidates) {
  if (options.rewrites < Rewrites::kReassociate) return;
  const std::optional<SumRegion> sum = SumRegion::Find(*request.region);
  if (!sum) return;
  const auto windows = FindWindowedSum(*sum, request.weights);
  if (!windows) return;
  for (const int outputs : {4, 2}) {
    const WinogradName name{outputs, ThreadsOfChoice(options)};
    const WinogradSchedule schedule =
        MakeWinogradSchedule(*windows, name, IsaOf(options));
    const WinogradScratch scratch = MakeScratch(*windows, schedule);
    if (schedule.error_ratio > kMostErrorRatio ||
        scratch.line_pitch > kMostLinePitch) {
      continue;
    }
    Candidate candidate;
    candidate.kernel = name.ToString();
    candidate.seconds = estimates.Winograd(*windows, schedule);
    candidate.load_seconds = schedule.load_seconds(*windows);
    candidate.memory_bytes =
        schedule.weights_bytes(*windows) + scratch.bytes * schedule.partitions;
    candidates->push_back(std::move(candidate));
  }
}

// Attention in one pass where it is allowed.
void AddAttention(const KernelRequest& request, const CompileOptions& options,
                  const Estimates& estimates,
                  std::vector<Candidate>* candidates) {
  if (options.rewrites < Rewrites::kReassociate) return;
  const auto attention = AttentionRegion::Find(*request.region);
  if (!attention) return;
  const AttentionName name{ThreadsOfChoice(options)};
  Candidate candidate;
  candidate.kernel = name.ToString();
  const AttentionSchedule schedule =
      MakeAttentionSchedule(*attention, name, IsaOf(options));
  candidate.seconds = estimates.Attention(schedule);
  candidate.memory_bytes = MakeScratch(schedule).bytes * schedule.partitions;
  candidates->push_back(std::move(candidate));
}

// Puts what a call pays least for first; of equal ones what came first stays
// so.
void Order(const CompileOptions& options, std::vector<Candidate>* candidates) {
  std::vector<Candidate> ordered;
  for (Candidate& candidate : *candidates) {
    const auto at = std::ranges::upper_bound(
        ordered, CallSeconds(candidate, options), {},
        [&](const Candidate& other) { return CallSeconds(other, options); });
    ordered.insert(at, std::move(candidate));
  }
  *candidates = std::move(ordered);
}

// Sizes to plan for; none that would make different strides look alike.
std::vector<int64_t> PlannedSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes = TypicalSizes(symbols);
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 2);
  return sizes;
}

// Of a region of data-dependent sizes: loops, or the interpreter.
std::vector<Candidate> Symbolic(const KernelRequest& request, Isa isa,
                                const Estimates& estimates) {
  std::vector<Candidate> candidates;
  if (auto loops = LoopsOf(request, isa)) {
    // How many threads there is work for is known at the launch only.
    (*loops)[0].schedule.partitions = 1;
    Candidate& candidate = candidates.emplace_back();
    candidate.kernel = kLoops;
    candidate.seconds = estimates.Loops(*loops);
    candidate.memory_bytes = ScratchBytes(*loops);
  }
  Candidate& interpreter = candidates.emplace_back();
  interpreter.kernel = kInterpreter;
  interpreter.seconds = estimates.Interpreted(
      EstimateWork(*request.region, PlannedSizes(request.symbols)).flops);
  return candidates;
}

// What a launch and its panels take.
int64_t BytesOf(const Region& region, const TileSchedule& tile) {
  int64_t sum = tile.scratch_bytes();
  for (const TileSchedule::Panel& panel : tile.panels) {
    int64_t bytes = 0;
    PackRegion(region, panel, &bytes);
    sum += bytes;
  }
  return sum;
}

// Of a region of known sizes: loops and tiles.
std::vector<Candidate> Generated(const KernelRequest& request,
                                 const FlatRegion& flat, Isa isa,
                                 const Estimates& estimates) {
  std::vector<Candidate> candidates;
  if (request.region->checks.empty() && !AnyPacked(*request.region)) {
    if (const auto tile = MakeTileSchedule(flat, request.weights, isa)) {
      Candidate& tiles = candidates.emplace_back();
      tiles.kernel = kTiles;
      tiles.seconds = estimates.Tiles(*tile);
      tiles.memory_bytes = BytesOf(*request.region, *tile);
    }
    if (const auto inner = MakeInnerSchedule(flat, request.weights, isa)) {
      Candidate& sums = candidates.emplace_back();
      sums.kernel = kInner;
      sums.seconds = estimates.Tiles(inner->tile);
      sums.memory_bytes = BytesOf(*request.region, inner->tile);
    }
  }
  Candidate& loops = candidates.emplace_back();
  const std::optional<LoopPlan> plan = LoopsOf(request, isa);
  loops.kernel = kLoops;
  loops.seconds = estimates.Loops(*plan);
  loops.memory_bytes = ScratchBytes(*plan);
  return candidates;
}

}  // namespace

std::optional<FlatRegion> FlattenRequest(const KernelRequest& request) {
  if (request.region->symbols == 0) return Flatten(*request.region);
  return FlattenSymbolic(*request.region, PlannedSizes(request.symbols));
}

std::optional<LoopPlan> LoopsOf(const KernelRequest& request, Isa isa) {
  if (request.region->symbols == 0) return PlanLoops(*request.region, isa);
  std::optional<FlatRegion> flat = FlattenRequest(request);
  if (!flat) return std::nullopt;
  LoopPlan plan(1);
  plan[0].schedule = MakeSchedule(*flat, isa);
  plan[0].flat = *std::move(flat);
  return plan;
}

std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options) {
  if (!AllComputed(*request.region)) return {};
  const Isa isa = IsaOf(options);
  const Estimates estimates(*request.region, MachineOf(options),
                            ThreadsOfChoice(options));
  if (request.region->symbols > 0) return Symbolic(request, isa, estimates);
  const std::optional<FlatRegion> flat = FlattenRequest(request);
  if (!flat) return {};
  const bool vendor =
      options.cpu_kernels != CpuKernels::kGenerated && MayUseVendor(options);
  std::vector<Candidate> candidates;
  if (vendor && options.cpu_kernels == CpuKernels::kVendor) {
    AddVendor(request, options, estimates, &candidates);
    if (!candidates.empty()) return candidates;
  }
  candidates = Generated(request, *flat, isa, estimates);
  AddWinograd(request, options, estimates, &candidates);
  AddAttention(request, options, estimates, &candidates);
  if (vendor) AddVendor(request, options, estimates, &candidates);
  Order(options, &candidates);
  return candidates;
}

}  // namespace encore::backends::cpu
