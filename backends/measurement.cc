#include "encore/backends/measurement.h"

#include <bit>
#include <cstdint>
#include <utility>

#include "encore/backends/region/codec.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/sha256.h"

namespace encore::backends {
namespace {

constexpr uint8_t kVersion = 1;
// What a kernel must save of the incumbent's time to be taken.
constexpr double kGain = 0.02;

double Cost(const Measurement::Timing& timing, double calls) {
  return timing.seconds + timing.load_seconds / calls;
}

}  // namespace

std::string EncodeMeasurement(const Measurement& measurement) {
  ByteWriter out;
  out.Byte(kVersion);
  out.Varint(measurement.timings.size());
  for (const Measurement::Timing& timing : measurement.timings) {
    out.String(timing.kernel);
    out.Fixed64(std::bit_cast<uint64_t>(timing.seconds));
    out.Fixed64(std::bit_cast<uint64_t>(timing.load_seconds));
  }
  return out.Take();
}

std::optional<Measurement> DecodeMeasurement(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  if (in.Byte() != kVersion) return std::nullopt;
  Measurement measurement;
  const size_t count = in.Count(17);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    Measurement::Timing timing;
    timing.kernel = in.String();
    timing.seconds = std::bit_cast<double>(in.Fixed64());
    timing.load_seconds = std::bit_cast<double>(in.Fixed64());
    // Neither of them may be NaN.
    if (!(timing.seconds > 0) || !(timing.load_seconds >= 0)) {
      return std::nullopt;
    }
    measurement.timings.push_back(std::move(timing));
  }
  if (!in.ok() || !in.done() || measurement.timings.empty()) {
    return std::nullopt;
  }
  return measurement;
}

size_t BestOf(const Measurement& measurement, double calls) {
  const std::vector<Measurement::Timing>& timings = measurement.timings;
  const double most = timings[0].seconds * (1 - kGain);
  size_t best = 0;
  for (size_t i = 1; i < timings.size(); ++i) {
    if (timings[i].seconds <= most &&
        Cost(timings[i], calls) < Cost(timings[best], calls)) {
      best = i;
    }
  }
  return best;
}

std::string MeasurementKey(const Backend& backend, const KernelRequest& request,
                           std::span<const Candidate> candidates,
                           const CompileOptions& options) {
  ByteWriter out;
  out.String(backend.name());
  for (const auto& [name, value] : backend.Target(options)) {
    out.String(name);
    out.String(value);
  }
  out.Byte(static_cast<uint8_t>(options.precision));
  out.Varint(candidates.size());
  for (const Candidate& candidate : candidates) out.String(candidate.kernel);
  out.Varint(request.weights.size());
  for (const bool weight : request.weights) out.Byte(weight ? 1 : 0);
  out.Raw(EncodeRegion(*request.region));
  return Sha256Of(out.str()).ToHex();
}

}  // namespace encore::backends
