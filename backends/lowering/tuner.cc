#include "encore/backends/lowering/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "encore/backends/lowering/paired_times.h"
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
constexpr PairedTurns kTurns = {
    .least = 4, .most = 60, .half = std::chrono::milliseconds(30)};

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

}  // namespace

Tuner::Tuner(const CompileOptions& options)
    : options_(options), threads_(PlannedThreads(options)) {}

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
    const auto seconds = TimeInPairs([&] { return incumbent->Time(); },
                                     [&] { return trial->Time(); }, kTurns,
                                     deadline, &measurement.timings[0].seconds);
    if (!seconds.ok()) continue;
    if (!seconds->has_value()) return std::nullopt;
    measurement.timings[i].seconds = **seconds;
  }
  return measurement;
}

}  // namespace encore::backends
