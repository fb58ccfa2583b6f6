#include "encore/backends/lowering/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "encore/backends/lowering/trial.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {
namespace {

using Clock = Tuner::Clock;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kMostBytes = int64_t{1} << 30;
// Each half of the launches has at least the first number of them, and ends
// with the second number or after this time.
constexpr int kLeastLaunches = 4, kMostLaunches = 60;
constexpr std::chrono::milliseconds kHalf{30};

// The bytes of all tensors; nothing where they are too many.
std::optional<int64_t> BytesOf(const Region& region) {
  int64_t bytes = 0;
  for (const auto* operands : {&region.inputs, &region.outputs}) {
    for (const Operand& operand : *operands) {
      const auto elements = ElementCount(MemoryDimsOf(operand));
      if (!elements || *elements > kMostBytes) return std::nullopt;
      bytes += *elements * BitWidth(operand.dtype) / 8;
      if (bytes > kMostBytes) return std::nullopt;
    }
  }
  return bytes;
}

// How many terms the longest sum has.
double SumLength(const Region& region) {
  double most = 1;
  for (const Stage& stage : region.stages) {
    double points = 1;
    for (const uint32_t v : stage.reduced) {
      points *= static_cast<double>(region.extents[v].constant());
    }
    most = std::max(most, points);
  }
  return most;
}

// Whether two kernels computed the same: sums of n terms in f32 in another
// order differ by about sqrt(n) roundings of the largest result.
bool Agree(const Literal& a, const Literal& b, double sum_length) {
  if (!IsFloat(a.dtype())) return a == b;
  double largest = 0;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    const double value = std::abs(a.AsDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double most =
      (Epsilon(a.dtype()) * 16 +
       std::min(Epsilon(a.dtype()), 0x1p-23) * 8 * std::sqrt(sum_length)) *
      largest;
  return CompareLiterals(b, a, {.absolute = most}).ok;
}

StatusOr<bool> Agree(const Trial& a, const Trial& b, const Region& region) {
  const double length = SumLength(region);
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const Literal x, a.Output(region, i));
    ENCORE_ASSIGN_OR_RETURN(const Literal y, b.Output(region, i));
    if (!Agree(x, y, length)) return false;
  }
  return true;
}

// One half of the launches: the least seconds of both; nothing where the
// deadline comes first.
StatusOr<std::optional<std::pair<double, double>>> TimeHalf(
    const Trial& incumbent, const Trial& other, Clock::time_point deadline) {
  const Clock::time_point start = Clock::now();
  std::pair<double, double> least = {kInfinite, kInfinite};
  for (int i = 0; i < kMostLaunches; ++i) {
    const Clock::time_point now = Clock::now();
    if (i >= kLeastLaunches && now - start > kHalf) break;
    if (now >= deadline) return std::nullopt;
    ENCORE_ASSIGN_OR_RETURN(const double a, incumbent.Time());
    ENCORE_ASSIGN_OR_RETURN(const double b, other.Time());
    least = {std::min(least.first, a), std::min(least.second, b)};
  }
  return least;
}

// Seconds of `other`, and those of the incumbent where they are less than what
// is known of it.
StatusOr<std::optional<double>> TimeAgainst(const Trial& incumbent,
                                            const Trial& other,
                                            Clock::time_point deadline,
                                            double* incumbent_seconds) {
  double seconds = 0;
  for (int half = 0; half < 2; ++half) {
    ENCORE_ASSIGN_OR_RETURN(const auto least,
                            TimeHalf(incumbent, other, deadline));
    if (!least) return std::nullopt;
    *incumbent_seconds = std::min(*incumbent_seconds, least->first);
    seconds = std::max(seconds, least->second);
  }
  return seconds;
}

int ThreadsOf(const CompileOptions& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

Clock::time_point Tuner::Deadline(double seconds) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> most = Clock::time_point::max() - now;
  if (!(seconds < most.count() / 2)) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(seconds));
}

Tuner::Tuner(const CompileOptions& options)
    : options_(options), threads_(std::min(ThreadsOf(options), 1024)) {}

std::optional<Measurement> Tuner::Measure(const Backend& backend,
                                          const KernelRequest& request,
                                          std::span<const Candidate> candidates,
                                          Clock::time_point deadline) {
  const Region& region = *request.region;
  Measurement measurement;
  for (const Candidate& candidate : candidates) {
    measurement.timings.push_back(
        {candidate.kernel, kInfinite, candidate.load_seconds});
  }
  if (!BytesOf(region)) return measurement;
  auto bench = Bench::Make(backend, region, &threads_);
  if (!bench.ok()) return std::nullopt;
  const auto incumbent =
      Trial::Make(backend, {request, candidates[0]}, options_, &*bench);
  if (!incumbent.ok()) return std::nullopt;
  const runtime::ThreadPool::Caller caller(threads_);
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (Clock::now() >= deadline) return std::nullopt;
    const auto trial =
        Trial::Make(backend, {request, candidates[i]}, options_, &*bench);
    if (!trial.ok()) continue;
    const auto agree = Agree(*incumbent, *trial, region);
    if (!agree.ok() || !*agree) continue;
    const auto seconds = TimeAgainst(*incumbent, *trial, deadline,
                                     &measurement.timings[0].seconds);
    if (!seconds.ok()) continue;
    if (!seconds->has_value()) return std::nullopt;
    measurement.timings[i].seconds = **seconds;
  }
  return measurement;
}

}  // namespace encore::backends
