// MeasurementTable: which measurements (backends/measurement.h) a compile asked
// for and got. An entry records the table of its compile: with the same table
// the compiler gives the same bytes, and an entry whose table has gaps can be
// improved by measuring.
#ifndef ENCORE_CACHE_STORE_MEASUREMENT_TABLE_H_
#define ENCORE_CACHE_STORE_MEASUREMENT_TABLE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/measurement.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

struct MeasurementTable {
  using Bytes = std::vector<std::byte>;
  // By key; nothing where the measurement was not there.
  std::map<std::string, std::optional<Bytes>, std::less<>> rows;

  // How many rows have no measurement, and how many have one.
  int64_t gaps() const;
  int64_t measured() const {
    return static_cast<int64_t>(rows.size()) - gaps();
  }

  // Empty for a table without rows. The same bytes for equal tables.
  std::string Encode() const;
  // DataLoss for bytes that are no table; empty ones are.
  static StatusOr<MeasurementTable> Decode(std::string_view bytes);
};

// Artifacts of a kind: those that were there when they were asked for and of
// use, and those that were put. What was neither found nor put, since the clock
// ended what makes it, is not counted.
struct ArtifactCounts {
  int64_t found = 0, made = 0;
};

// An ArtifactStore that records the measurements that pass through it, and
// counts artifacts. A measurement that is put is found again also where there
// is no store behind it. Thread-safe.
class RecordingStore : public backends::ArtifactStore {
 public:
  // `store` may be null.
  explicit RecordingStore(backends::ArtifactStore* store) : store_(store) {}

  std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                            std::string_view key) override;
  void Put(std::string_view kind, std::string_view key,
           std::span<const std::byte> bytes) override;

  void CutShort() override;

  // What passed so far.
  MeasurementTable table() const;
  // How many measurements of kernels were put, and how many of them chose
  // another kernel than what is taken without.
  int64_t measured() const;
  int64_t changed() const;
  // What was put of whole plans; nothing where nothing was.
  std::optional<backends::Measurement> plan() const;
  ArtifactCounts counts(std::string_view kind) const;
  bool cut_short() const;

 private:
  backends::ArtifactStore* const store_;
  mutable std::mutex mutex_;
  MeasurementTable table_;
  int64_t measured_ = 0, changed_ = 0;
  std::optional<backends::Measurement> plan_;
  struct Passed {
    // Keys; what was put is not found, however often it is asked for then.
    std::set<std::string, std::less<>> found, made;
  };
  std::map<std::string, Passed, std::less<>> passed_;  // by kind
  bool cut_short_ = false;
};

// An ArtifactStore with the measurements of `table` and no others. Thread-safe.
class RecordedStore : public backends::ArtifactStore {
 public:
  // `store`, for other artifacts, may be null.
  RecordedStore(MeasurementTable table, backends::ArtifactStore* store)
      : table_(std::move(table)), store_(store) {}

  std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                            std::string_view key) override;
  // Measurements are dropped.
  void Put(std::string_view kind, std::string_view key,
           std::span<const std::byte> bytes) override;

 private:
  const MeasurementTable table_;
  backends::ArtifactStore* const store_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_MEASUREMENT_TABLE_H_
