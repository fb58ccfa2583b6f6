#include "encore/backends/cpu/candidates.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "encore/backends/cpu/attention/match.h"
#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/region/layout.h"
#include "encore/backends/region/work.h"

namespace encore::backends::cpu {
namespace {

// Planned for where results, and so what is chosen, must not depend on it.
constexpr int kDeterministicThreads = 2;

// Threads that kernels are chosen for.
int PlannedThreads(const CompileOptions& options) {
  return options.deterministic ? kDeterministicThreads : ThreadsOf(options);
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
bool VendorComputes(VendorMatch* match) {
  switch (CompleteVendor(match->pack, &match->program).code()) {
    case StatusCode::kOk:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

bool HasVendor(const KernelRequest& request) {
  std::optional<VendorMatch> match = FindVendor(request);
  return match && VendorComputes(&*match);
}

// What a generated kernel takes by the table of efficiencies, where there is a
// vendor's kernel to compare it with.
std::optional<double> AddVendor(const KernelRequest& request, int threads,
                                std::vector<Candidate>* candidates) {
  std::optional<VendorMatch> match = FindVendor(request);
  if (!match) return std::nullopt;
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
      VendorComputes(&*match);
  candidates->insert(first ? candidates->begin() : candidates->end(),
                     std::move(candidate));
  return generated;
}

// Of the cheapest kernel that is generated without a rewrite.
double DirectSeconds(const std::vector<Candidate>& candidates) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.kernel == kVendor) continue;
    least = std::min(least, candidate.seconds - kLaunchSeconds);
  }
  return least;
}

// Winograd's kernels where they are allowed. `planned`: DirectSeconds by cycles
// alone, to which theirs are in proportion; `by_table`: what the table of
// efficiencies has in its place, if it does.
void AddWinograd(const KernelRequest& request, const CompileOptions& options,
                 double planned, std::optional<double> by_table,
                 std::vector<Candidate>* candidates) {
  if (options.rewrites < Rewrites::kReassociate) return;
  const std::optional<SumRegion> sum = SumRegion::Find(*request.region);
  if (!sum) return;
  const auto windows = FindWindowedSum(*sum, request.weights);
  if (!windows) return;
  const double direct = DirectSeconds(*candidates);
  for (const int outputs : {4, 2}) {
    const WinogradName name{outputs, PlannedThreads(options)};
    const WinogradSchedule schedule =
        MakeWinogradSchedule(*windows, name, IsaOf(options));
    if (schedule.error_ratio > kMostErrorRatio) continue;
    const double share = schedule.seconds() / planned;
    Candidate candidate;
    candidate.kernel = name.ToString();
    candidate.seconds =
        kLaunchSeconds +
        share * (share < 1 ? by_table.value_or(direct) : direct);
    candidate.load_seconds = schedule.load_seconds(*windows);
    const auto slower = [&](const Candidate& other) {
      return SecondsWithLoad(other) > SecondsWithLoad(candidate);
    };
    candidates->insert(std::ranges::find_if(*candidates, slower),
                       std::move(candidate));
  }
}

// Attention in one pass where it is allowed.
void AddAttention(const KernelRequest& request, const CompileOptions& options,
                  std::vector<Candidate>* candidates) {
  if (options.rewrites < Rewrites::kReassociate) return;
  const auto attention = AttentionRegion::Find(*request.region);
  if (!attention) return;
  const AttentionName name{PlannedThreads(options)};
  Candidate candidate;
  candidate.kernel = name.ToString();
  candidate.seconds =
      kLaunchSeconds +
      MakeAttentionSchedule(*attention, name, IsaOf(options)).seconds();
  const auto slower = [&](const Candidate& other) {
    return SecondsWithLoad(other) > candidate.seconds;
  };
  candidates->insert(std::ranges::find_if(*candidates, slower),
                     std::move(candidate));
}

// Sizes to plan for; none that would make different strides look alike.
std::vector<int64_t> PlannedSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes = TypicalSizes(symbols);
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 2);
  return sizes;
}

// Of a region of data-dependent sizes: loops, or the interpreter.
std::vector<Candidate> Symbolic(const KernelRequest& request,
                                const CompileOptions& options) {
  std::vector<Candidate> candidates;
  if (const auto flat = FlattenLoops(request)) {
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
      kInterpretedSeconds *
          EstimateWork(*request.region, PlannedSizes(request.symbols)).flops;
  return candidates;
}

// Seconds in which what does not stay in the caches is read and written.
double MemorySeconds(const Region& region) {
  double bytes = 0;
  for (const auto* operands : {&region.inputs, &region.outputs}) {
    for (const Operand& operand : *operands) {
      const double own = static_cast<double>(
          MemoryBytes(operand.dtype, operand.dims, operand.layout).constant());
      if (3 * own > static_cast<double>(kLastCacheBytes)) bytes += own;
    }
  }
  return bytes / kMemoryBytesPerSecond;
}

// Of a region of known sizes: loops and tiles, the better first.
std::vector<Candidate> Generated(const KernelRequest& request,
                                 const FlatRegion& flat,
                                 const CompileOptions& options) {
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
  const Schedule loops = MakeSchedule(*FlattenLoops(request), isa);
  add(kLoops, loops.cycles, loops.partitions);
  if (!request.region->checks.empty() || AnyPacked(*request.region)) {
    return candidates;
  }
  if (const auto tile = MakeTileSchedule(flat, request.weights, isa)) {
    add(kTiles, tile->cycles, tile->partitions);
    // Where both wait for memory, the wider accesses of tiles wait less.
    if (candidates[1].seconds <= candidates[0].seconds) {
      std::swap(candidates[0], candidates[1]);
    }
  }
  return candidates;
}

}  // namespace

std::optional<FlatRegion> FlattenRequest(const KernelRequest& request) {
  if (request.region->symbols == 0) return Flatten(*request.region);
  return FlattenSymbolic(*request.region, PlannedSizes(request.symbols));
}

std::optional<FlatRegion> FlattenLoops(const KernelRequest& request) {
  if (request.region->symbols > 0) return FlattenRequest(request);
  return Flatten(*request.region, /*repeats=*/true);
}

std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options) {
  if (!AllComputed(*request.region)) return {};
  if (request.region->symbols > 0) return Symbolic(request, options);
  const std::optional<FlatRegion> flat = FlattenRequest(request);
  if (!flat) return {};
  if (options.cpu_kernels == CpuKernels::kVendor && MayUseVendor(options) &&
      HasVendor(request)) {
    return {{std::string(kVendor), kLaunchSeconds, 0, {}, {}}};
  }
  std::vector<Candidate> candidates = Generated(request, *flat, options);
  const double planned = DirectSeconds(candidates);
  std::optional<double> by_table;
  if (options.cpu_kernels == CpuKernels::kAuto && MayUseVendor(options)) {
    by_table = AddVendor(request, PlannedThreads(options), &candidates);
  }
  AddWinograd(request, options, planned, by_table, &candidates);
  AddAttention(request, options, &candidates);
  const double memory = kLaunchSeconds + MemorySeconds(*request.region);
  for (Candidate& candidate : candidates) {
    candidate.seconds = std::max(candidate.seconds, memory);
  }
  return candidates;
}

}  // namespace encore::backends::cpu
