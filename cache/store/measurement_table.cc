#include "encore/cache/store/measurement_table.h"

#include <algorithm>
#include <utility>

#include "encore/backends/measurement.h"
#include "encore/ir/support/bytes.h"

namespace encore::cache {

namespace {

bool IsMeasurement(std::string_view kind) {
  return kind == backends::kMeasurementKind ||
         kind == backends::kPlanMeasurementKind;
}

}  // namespace

int64_t MeasurementTable::gaps() const {
  return std::count_if(rows.begin(), rows.end(),
                       [](const auto& row) { return !row.second; });
}

std::string MeasurementTable::Encode() const {
  if (rows.empty()) return "";
  ByteWriter out;
  out.Varint(rows.size());
  for (const auto& [key, bytes] : rows) {
    out.String(key);
    out.Byte(bytes ? 1 : 0);
    if (!bytes) continue;
    out.Varint(bytes->size());
    out.Raw(*bytes);
  }
  return out.Take();
}

StatusOr<MeasurementTable> MeasurementTable::Decode(std::string_view bytes) {
  MeasurementTable table;
  if (bytes.empty()) return table;
  ByteReader in(bytes);
  const size_t count = in.Count(2);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    std::optional<Bytes>& row = table.rows[std::string(in.String())];
    const uint8_t there = in.Byte();
    if (there > 1) in.Fail();
    if (there != 1) continue;
    const auto raw = std::as_bytes(std::span(in.String()));
    row.emplace(raw.begin(), raw.end());
  }
  // Equal keys, and keys out of order, are nothing that Encode writes.
  if (in.ok() && in.done() && table.Encode() == bytes) return table;
  return DataLossError("malformed table of measurements");
}

std::optional<std::vector<std::byte>> RecordingStore::Get(
    std::string_view kind, std::string_view key) {
  if (!IsMeasurement(kind)) {
    auto bytes = store_ == nullptr ? std::nullopt : store_->Get(kind, key);
    if (!bytes) return bytes;
    const std::lock_guard lock(mutex_);
    Passed& passed = passed_[std::string(kind)];
    if (!passed.made.contains(key)) passed.found.emplace(key);
    return bytes;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto row = table_.rows.find(key);
    if (row != table_.rows.end() && row->second) return row->second;
  }
  auto bytes = store_ == nullptr ? std::nullopt : store_->Get(kind, key);
  if (bytes && !backends::DecodeMeasurement(*bytes)) bytes.reset();
  const std::lock_guard lock(mutex_);
  table_.rows[std::string(key)] = bytes;
  return bytes;
}

void RecordingStore::Put(std::string_view kind, std::string_view key,
                         std::span<const std::byte> bytes) {
  if (store_ != nullptr) store_->Put(kind, key, bytes);
  const std::lock_guard lock(mutex_);
  if (!IsMeasurement(kind)) {
    Passed& passed = passed_[std::string(kind)];
    passed.found.erase(std::string(key));
    passed.made.emplace(key);
    return;
  }
  const auto measurement = backends::DecodeMeasurement(bytes);
  table_.rows[std::string(key)].emplace(bytes.begin(), bytes.end());
  if (!measurement) return;
  const bool changed =
      backends::BestOf(*measurement, backends::CallsPerLoad({})) > 0;
  if (kind == backends::kPlanMeasurementKind) {
    plan_ = *measurement;
    return;
  }
  ++measured_;
  changed_ += changed;
}

void RecordingStore::CutShort() {
  const std::lock_guard lock(mutex_);
  cut_short_ = true;
}

bool RecordingStore::cut_short() const {
  const std::lock_guard lock(mutex_);
  return cut_short_;
}

MeasurementTable RecordingStore::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

int64_t RecordingStore::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

std::optional<backends::Measurement> RecordingStore::plan() const {
  const std::lock_guard lock(mutex_);
  return plan_;
}

int64_t RecordingStore::changed() const {
  const std::lock_guard lock(mutex_);
  return changed_;
}

ArtifactCounts RecordingStore::counts(std::string_view kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = passed_.find(kind);
  if (found == passed_.end()) return {};
  const Passed& passed = found->second;
  return {.found = static_cast<int64_t>(passed.found.size()),
          .made = static_cast<int64_t>(passed.made.size())};
}

std::optional<std::vector<std::byte>> RecordedStore::Get(std::string_view kind,
                                                         std::string_view key) {
  if (!IsMeasurement(kind)) {
    return store_ == nullptr ? std::nullopt : store_->Get(kind, key);
  }
  const auto row = table_.rows.find(key);
  return row == table_.rows.end() ? std::nullopt : row->second;
}

void RecordedStore::Put(std::string_view kind, std::string_view key,
                        std::span<const std::byte> bytes) {
  if (!IsMeasurement(kind) && store_ != nullptr) {
    store_->Put(kind, key, bytes);
  }
}

}  // namespace encore::cache
