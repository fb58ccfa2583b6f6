// Measurement: what the kernels that a backend has for a region took on this
// machine.
//
// A compile with tune_seconds makes them (lowering/tuner.h) and keeps each in
// its ArtifactStore; every later compile, with or without tune_seconds, finds
// them there and chooses by them. They are the only artifacts that what is
// compiled depends on: given the same ones, Compile gives the same bytes.
#ifndef ENCORE_BACKENDS_MEASUREMENT_H_
#define ENCORE_BACKENDS_MEASUREMENT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"

namespace encore::backends {

// The kind that measurements have in an ArtifactStore.
inline constexpr std::string_view kMeasurementKind = "measurement";
// The kind of those of whole plans (plan_tuner.h), whose timings are called as
// the forms of plans are (plan_forms.h).
inline constexpr std::string_view kPlanMeasurementKind = "plan";

struct Measurement {
  struct Timing {
    std::string kernel;       // Candidate::kernel
    double seconds = 0;       // of a launch; infinite where it may not be taken
    double load_seconds = 0;  // Candidate::load_seconds
  };
  // At least one. The first is what is taken without measurements, the
  // incumbent.
  std::vector<Timing> timings;
};

// The bytes that are kept, and back; nothing for other bytes.
std::string EncodeMeasurement(const Measurement& measurement);
std::optional<Measurement> DecodeMeasurement(std::span<const std::byte> bytes);

// The kernel to take: the cheapest, its load spread over `calls`, of those that
// took at least 2 % less than the incumbent; the incumbent where there is none.
size_t BestOf(const Measurement& measurement, double calls);

// What `candidates` for `request` are measured under: everything that their
// times depend on but the compiler.
std::string MeasurementKey(const Backend& backend, const KernelRequest& request,
                           std::span<const Candidate> candidates,
                           const CompileOptions& options);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_MEASUREMENT_H_
