// What measurements of kernels do to entries, with Encore's own compiler.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "encore/backends/map_store.h"
#include "encore/backends/measurement.h"
#include "encore/backends/plan_forms.h"
#include "encore/cache/session/plan_file.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/artifact_store.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/cache/store/measurement_table.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

Literal Values(std::vector<int64_t> dims, int salt) {
  Literal literal(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, std::sin(static_cast<double>(i * 7 + salt)));
  }
  return literal;
}

Graph Model() {
  GraphBuilder g("model");
  const Value x = g.Input("x", {DType::kF32, {48, 192}});
  const Literal data = Values({192, 80}, 3);
  const Value w = g.Parameter("w", data.type(), data);
  return *g.Build({{"y", g.Relu(g.MatMul(x, w))}});
}

class TuningTest : public testing::Test {
 protected:
  TuningTest()
      : folder_(StrCat(
            std::getenv("TEST_TMPDIR"), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())) {}

  // A fresh session that tunes for so long; what it says goes to log_.
  std::unique_ptr<Session> NewSession(double seconds, bool check = false,
                                      double max_seconds = 0) {
    backends::CompileOptions compile;
    compile.threads = 2;
    compile.tune_seconds = seconds;
    compile.max_seconds = max_seconds;
    SessionOptions options = StandardSessionOptions(compile, folder_);
    options.check = check;
    log_.clear();
    options.log = [this](std::string_view line) { log_ += StrCat(line, "\n"); };
    return std::make_unique<Session>(std::move(options), &threads_);
  }
  // The compiled graph, after a call that was right.
  std::string Plan(Session& session) {
    const Graph graph = Model();
    const Literal x = Values({48, 192}, 5);
    const auto loaded = session.Load(graph);
    ENCORE_CHECK_OK(loaded.status());
    const auto actual = (*loaded)->Run({&x, 1});
    ENCORE_CHECK_OK(actual.status());
    const Literal expected = (*Evaluate(graph, {&x, 1}))[0];
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      EXPECT_NEAR((*actual)[0].AsDouble(i), expected.AsDouble(i), 1e-4);
    }
    const auto bytes = runtime::SerializeCompiledGraph((*loaded)->graph());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<DiskStore::Entry> Entries(std::string_view kind) {
    std::vector<DiskStore::Entry> entries;
    for (const DiskStore::Entry& entry :
         (*DiskStore::Open({.folder = folder_}))->List()) {
      if (entry.kind == kind) entries.push_back(entry);
    }
    return entries;
  }
  MeasurementTable Table() {
    const auto container = Container::Open(Entries("graph").at(0).path);
    ENCORE_CHECK_OK(container.status());
    const auto table = ReadEntryMeasurements(**container);
    ENCORE_CHECK_OK(table.status());
    return *table;
  }

  const std::string folder_;
  runtime::ThreadPool threads_{2};
  std::string log_;
};

TEST_F(TuningTest, TunesWhatWasCompiledWithoutAndIsRecalled) {
  Plan(*NewSession(0));
  EXPECT_EQ(log_, "");
  EXPECT_EQ(Table().gaps(), 2);  // the product's kernel, and the plan
  EXPECT_TRUE(Entries("artifact").empty());

  auto session = NewSession(60);
  const std::string tuned = Plan(*session);
  EXPECT_EQ(session->statistics().disk_hits, 0);
  EXPECT_NE(log_.find("1 kernels measured"), std::string::npos) << log_;
  EXPECT_EQ(Table().gaps(), 0);
  EXPECT_NE(log_.find("other plans timed whole"), std::string::npos) << log_;
  EXPECT_EQ(Entries("artifact").size(), 2u);
  EXPECT_EQ(Entries("graph").size(), 1u);

  for (const double seconds : {0.0, 60.0}) {
    session = NewSession(seconds);
    EXPECT_EQ(Plan(*session), tuned);
    EXPECT_EQ(session->statistics().disk_hits, 1);
    EXPECT_EQ(log_, "");
  }
  // A compile that finds no entry uses what is measured.
  fs::remove(Entries("graph").at(0).path);
  session = NewSession(0);
  EXPECT_EQ(Plan(*session), tuned);
  EXPECT_EQ(session->statistics().misses, 1);
  EXPECT_EQ(Table().gaps(), 0);
}

TEST_F(TuningTest, TooLittleTimeLeavesTheEntry) {
  const std::string plain = Plan(*NewSession(0));
  EXPECT_EQ(Plan(*NewSession(1e-9)), plain);
  EXPECT_EQ(log_,
            "tune: 0 kernels measured, 0 of them changed, 2 left to measure\n");
  EXPECT_EQ(Table().gaps(), 2);
}

// Its key is that of what the search finds in all the time it needs.
TEST_F(TuningTest, ASearchThatTheClockCutShortIsNotKept) {
  auto session = NewSession(0, false, 1e-9);
  Plan(*session);
  EXPECT_NE(log_.find("--max-seconds"), std::string::npos) << log_;
  EXPECT_TRUE(Entries("graph").empty());
  Plan(*session);  // nor in the session
  EXPECT_EQ(session->statistics().memory_hits, 0);

  const std::string whole = Plan(*NewSession(0, false, 1e9));
  EXPECT_EQ(log_, "");
  EXPECT_EQ(Entries("graph").size(), 1u);
  session = NewSession(0, false, 1e-9);
  EXPECT_EQ(Plan(*session), whole);
  EXPECT_EQ(session->statistics().disk_hits, 1);
}

// Weights that were prepared for one kernel are not given to another.
TEST_F(TuningTest, OtherChoicesUnderTheSameKey) {
  Plan(*NewSession(60));
  std::string key;  // of the product
  std::optional<backends::Measurement> measured;
  for (const auto& [name, bytes] : Table().rows) {
    const auto one = backends::DecodeMeasurement(*bytes);
    ASSERT_TRUE(one.has_value());
    if (one->timings[0].kernel == backends::PlanForms()[0].name) continue;
    key = name;
    measured = one;
  }
  ASSERT_TRUE(measured.has_value());
  std::set<std::string> plans;
  for (size_t i = 0; i < measured->timings.size(); ++i) {
    backends::Measurement other = *measured;
    for (backends::Measurement::Timing& timing : other.timings) {
      timing = {timing.kernel, 2, 0};
    }
    other.timings[i].seconds = 1;
    const std::string encoded = backends::EncodeMeasurement(other);
    DiskArtifactStore(*DiskStore::Open({.folder = folder_}))
        .Put(backends::kMeasurementKind, key,
             std::as_bytes(std::span(encoded)));
    fs::remove(Entries("graph").at(0).path);
    const std::string plan = Plan(*NewSession(0));
    EXPECT_EQ(Plan(*NewSession(0)), plan);
    EXPECT_TRUE(plans.insert(plan).second) << other.timings[i].kernel;
  }
}

// An entry keeps what it was compiled with: other measurements made meanwhile
// do not make it wrong.
TEST_F(TuningTest, CheckModeCompilesWithTheEntrysMeasurements) {
  Plan(*NewSession(0));
  auto session = NewSession(60);
  ASSERT_TRUE(session->Load(Model()).ok());
  for (const double seconds : {0.0, 60.0}) {
    ASSERT_TRUE(NewSession(seconds, /*check=*/true)->Load(Model()).ok());
  }
  for (const DiskStore::Entry& entry : Entries("artifact")) {
    fs::remove(entry.path);
  }
  EXPECT_TRUE(NewSession(0, /*check=*/true)->Load(Model()).ok());
}

// A compile that another one overtook, where neither could wait for the other.
TEST_F(TuningTest, AnUntunedEntryReplacesNoTunedOne) {
  std::string tuned;
  SessionOptions options = NewSession(0)->options();
  const auto compile = options.compiler.compile;
  options.compiler.compile = [&](const Graph& graph, const auto& how,
                                 auto* store, auto* passes) {
    auto plain = compile(graph, how, store, passes);
    SessionOptions hasty = NewSession(60)->options();
    hasty.max_wait = std::chrono::milliseconds(0);
    Session overtaking(hasty, &threads_);
    tuned = Plan(overtaking);
    return plain;
  };
  Session late(options, &threads_);
  ASSERT_TRUE(late.Load(Model()).ok());
  EXPECT_EQ(Table().gaps(), 0);
  auto session = NewSession(0);
  EXPECT_EQ(Plan(*session), tuned);
  EXPECT_EQ(session->statistics().disk_hits, 1);
}

TEST_F(TuningTest, WhatRunsKeepsItsPlanWhileItsEntryIsReplaced) {
  const auto session = NewSession(0);
  const auto loaded = session->Load(Model());
  ASSERT_TRUE(loaded.ok());
  const auto bytes = [&] {
    return runtime::SerializeCompiledGraph((*loaded)->graph());
  };
  const auto before = bytes();
  const Literal x = Values({48, 192}, 5);
  const auto expected = (*loaded)->Run({&x, 1});
  ASSERT_TRUE(expected.ok());
  std::atomic<bool> done = false;
  std::atomic<int> runs = 0, wrong = 0;
  std::thread running([&] {
    while (!done || runs == 0) {
      const auto outputs = (*loaded)->Run({&x, 1});
      wrong += !outputs.ok() || *outputs != *expected;
      ++runs;
    }
  });
  Plan(*NewSession(60));
  done = true;
  running.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Table().gaps(), 0);
  EXPECT_TRUE(bytes() == before);
}

TEST_F(TuningTest, DamagedMeasurementsAreMadeAgain) {
  Plan(*NewSession(60));
  for (const std::string_view kind : {"artifact", "graph"}) {
    const std::string path = Entries(kind).at(0).path;
    const auto size = static_cast<int64_t>(fs::file_size(path));
    for (int64_t at = 0; at < size; at += 1 + size / 9) {
      if (kind == "artifact") fs::remove(Entries("graph").at(0).path);
      FlipBitOfFile(path, at * 8 + 3);
      Plan(*NewSession(kind == "artifact" && at > size / 2 ? 60 : 0));
      Plan(*NewSession(60));
      EXPECT_EQ(Table().gaps(), 0) << kind << " " << at;
    }
  }
}

TEST_F(TuningTest, PlansInFilesKeepTheirMeasurements) {
  const std::string path = folder_ + "-plan.encore";
  auto session = NewSession(60);
  const std::string tuned = Plan(*session);
  ASSERT_TRUE(SavePlan(*session, path, Model()).ok());
  fs::remove_all(folder_);
  session = NewSession(60);
  const auto loaded =
      LoadPlan(*session, path, Model(), CodeTrust::kCompileInstead);
  ASSERT_TRUE(loaded.ok() && *loaded) << loaded.status();
  EXPECT_EQ(Plan(*session), tuned);
  // What another machine measured decides in this session alone.
  for (const DiskStore::Entry& entry : session->options().disk->List()) {
    EXPECT_NE(entry.kind, kGraphKind);
  }
}

TEST(RecordingStore, CountsWhatWasFoundAndWhatWasMade) {
  backends::MapStore kept;
  const std::byte bytes[] = {std::byte{1}};
  for (const char* key : {"there", "of no use"}) kept.Put("kernel", key, bytes);
  RecordingStore store(&kept);
  EXPECT_EQ(store.counts("kernel").found, 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(store.Get("kernel", "there"));
    EXPECT_TRUE(store.Get("kernel", "of no use"));
    store.Put("kernel", "of no use", bytes);
    store.Get("kernel", "new");
    store.Put("kernel", "new", bytes);
    EXPECT_FALSE(store.Get("kernel", "given up"));
    EXPECT_EQ(store.counts("kernel").found, 1) << round;
    EXPECT_EQ(store.counts("kernel").made, 2) << round;
  }
  EXPECT_EQ(store.counts("rewrite").found, 0);
}

TEST(MeasurementTable, BytesAndBack) {
  MeasurementTable table;
  EXPECT_EQ(table.Encode(), "");
  table.rows["a"];
  table.rows["b"].emplace(MeasurementTable::Bytes(3));
  const std::string bytes = table.Encode();
  const auto again = MeasurementTable::Decode(bytes);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->rows, table.rows);
  EXPECT_EQ(again->gaps(), 1);
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(MeasurementTable::Decode(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(MeasurementTable::Decode(bytes + "x").ok());
}

}  // namespace
}  // namespace encore::cache
