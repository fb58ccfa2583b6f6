#include "encore/backends/cuda/candidates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "encore/backends/cuda/profile.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/work.h"

namespace encore::backends::cuda {
namespace {

// Sizes to plan for; none that would make different strides look alike.
std::vector<int64_t> PlannedSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes = TypicalSizes(symbols);
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 2);
  return sizes;
}

std::optional<FlatRegion> FlattenRequest(const KernelRequest& request) {
  if (request.region->symbols == 0) return Flatten(*request.region);
  return FlattenSymbolic(*request.region, PlannedSizes(request.symbols));
}

bool AnyString(const Region& region) {
  const auto is_string = [](const auto& of) { return IsString(of.dtype); };
  return std::ranges::any_of(region.inputs, is_string) ||
         std::ranges::any_of(region.outputs, is_string);
}

}  // namespace

std::vector<Candidate> CandidatesOf(const KernelRequest& request,
                                    const CompileOptions& options) {
  if (AnyString(*request.region)) return {};
  const auto kernel = GenerateCandidate(request, kLoops);
  if (!kernel) return {};
  Candidate candidate;
  candidate.kernel = kLoops;
  candidate.seconds = LaunchSeconds(
      ProfileOf(options),
      EstimateWork(*request.region, PlannedSizes(request.symbols)));
  return {std::move(candidate)};
}

std::optional<GeneratedKernel> GenerateCandidate(const KernelRequest& request,
                                                 std::string_view kernel,
                                                 const PlanLimits& limits) {
  const std::optional<FlatRegion> flat = FlattenRequest(request);
  if (!flat || kernel != kLoops) return std::nullopt;
  return GenerateKernel(*flat, limits);
}

}  // namespace encore::backends::cuda
