// Compiles that choose kernels by measurements, on the cpu backend.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/compiled_check.h"
#include "encore/backends/map_store.h"
#include "encore/backends/measurement.h"
#include "encore/ir/support/check.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// What a store has of measurements.
MapStore::Kind& In(MapStore& store) { return store[kMeasurementKind]; }

void PutText(MapStore& store, const std::string& key, std::string_view text) {
  store.Put(kMeasurementKind, key, std::as_bytes(std::span(text)));
}

// Two products, one of them with something after it.
Graph Model() {
  return ParsedGraph(R"(
graph g(%x: f32[64,256], %v: param f32[256,128], %w: param f32[128,96])
    -> f32[64,96] {
  %a = dot_general(%x, %v) {contract = [1]x[0]}
  %h = relu(%a)
  %y = dot_general(%h, %w) {contract = [1]x[0]}
  return %y
})");
}

runtime::CompiledGraph CompileModel(ArtifactStore* store, double seconds = 0) {
  CompileOptions options;
  options.threads = 2;
  options.tune_seconds = seconds;
  auto compiled = Compile(Model(), options, AllBackends(), store);
  ENCORE_CHECK_OK(compiled.status());
  return *std::move(compiled);
}

TEST(Tuning, WithoutTimeNothingIsMeasured) {
  MapStore store;
  const std::string plain = BytesOf(CompileModel(nullptr));
  EXPECT_EQ(BytesOf(CompileModel(&store)), plain);
  EXPECT_EQ(In(store).missing.size(), 2u);
  EXPECT_TRUE(In(store).rows.empty());
  EXPECT_EQ(BytesOf(CompileModel(&store, 1e-9)), plain);
  EXPECT_TRUE(In(store).rows.empty());
}

TEST(Tuning, WhatIsMeasuredIsUsedByLaterCompiles) {
  MapStore store;
  const runtime::CompiledGraph tuned = CompileModel(&store, 60);
  ExpectRight(Model(), tuned);
  ASSERT_EQ(In(store).rows.size(), 2u);
  for (const auto& [key, bytes] : In(store).rows) {
    const auto measurement = DecodeMeasurement(bytes);
    ASSERT_TRUE(measurement.has_value());
    EXPECT_GE(measurement->timings.size(), 2u);
    for (const Measurement::Timing& timing : measurement->timings) {
      EXPECT_LT(timing.seconds, 1) << timing.kernel;
    }
  }
  In(store).missing.clear();
  const auto rows = In(store).rows;
  EXPECT_EQ(BytesOf(CompileModel(&store)), BytesOf(tuned));
  EXPECT_EQ(BytesOf(CompileModel(&store, 60)), BytesOf(tuned));
  EXPECT_TRUE(In(store).missing.empty());
  EXPECT_EQ(In(store).rows, rows);
}

// Each kernel that a measurement may name is taken when it says so, and right.
TEST(Tuning, MeasurementsDecide) {
  MapStore measured;
  CompileModel(&measured, 60);
  const std::string plain = BytesOf(CompileModel(nullptr));
  for (const auto& [key, bytes] : In(measured).rows) {
    const auto measurement = DecodeMeasurement(bytes);
    ASSERT_TRUE(measurement.has_value());
    for (size_t i = 0; i < measurement->timings.size(); ++i) {
      Measurement other = *measurement;
      for (size_t j = 0; j < other.timings.size(); ++j) {
        other.timings[j].seconds = j == i ? 1 : 2;
        other.timings[j].load_seconds = 0;
      }
      MapStore store;
      PutText(store, key, EncodeMeasurement(other));
      const runtime::CompiledGraph compiled = CompileModel(&store);
      EXPECT_EQ(BytesOf(compiled) == plain, i == 0) << other.timings[i].kernel;
      EXPECT_EQ(BytesOf(CompileModel(&store)), BytesOf(compiled));
      ExpectRight(Model(), compiled);
    }
  }
}

TEST(Tuning, DamagedMeasurementsAreMadeAgain) {
  MapStore store;
  CompileModel(&store, 60);
  const std::string plain = BytesOf(CompileModel(nullptr));
  for (auto& [key, bytes] : In(store).rows) bytes.resize(bytes.size() / 2);
  const auto damaged = In(store).rows;
  EXPECT_EQ(BytesOf(CompileModel(&store)), plain);
  // Of another number of kernels.
  for (const auto& [key, bytes] : damaged) {
    PutText(store, key, EncodeMeasurement({{{"elsewhere", 1, 0}}}));
  }
  EXPECT_EQ(BytesOf(CompileModel(&store)), plain);
  ExpectRight(Model(), CompileModel(&store, 60));
  for (const auto& [key, bytes] : In(store).rows) {
    const auto measurement = DecodeMeasurement(bytes);
    ASSERT_TRUE(measurement.has_value());
    EXPECT_GE(measurement->timings.size(), 2u);
  }
}

TEST(Tuning, ThreadsAndPrecisionAreMeasuredApart) {
  MapStore store;
  CompileModel(&store, 60);
  CompileOptions options;
  options.threads = 1;
  ASSERT_TRUE(Compile(Model(), options, AllBackends(), &store).ok());
  EXPECT_EQ(In(store).missing.size(), 4u);
  options = {.threads = 2, .precision = Precision::kBF16};
  ASSERT_TRUE(Compile(Model(), options, AllBackends(), &store).ok());
  EXPECT_EQ(In(store).missing.size(), 6u);
}

TEST(Tuning, BackendsWithoutAChoiceMeasureNothing) {
  MapStore store;
  CompileOptions options;
  options.target = "ref";
  options.tune_seconds = 60;
  ASSERT_TRUE(Compile(Model(), options, AllBackends(), &store).ok());
  EXPECT_EQ(In(store).gets, 0);
}

}  // namespace
}  // namespace encore::backends
