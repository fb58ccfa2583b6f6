#include "encore/cache/session/weight_parts.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

Literal Values(std::vector<int64_t> dims, double salt) {
  Literal literal(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, std::sin(static_cast<double>(i) * 7 + salt));
  }
  return literal;
}

struct Shape2 {
  int64_t rows = 0;
  std::vector<int64_t> widths;
  // Of the weights of each product.
  std::vector<double> salts;
};

// Products, each with a tanh.
Graph Layers(const Shape2& shape) {
  GraphBuilder g("layers");
  Value x = g.Input("x", {DType::kF32, {shape.rows, shape.widths[0]}});
  for (size_t i = 1; i < shape.widths.size(); ++i) {
    const Literal w =
        Values({shape.widths[i - 1], shape.widths[i]}, shape.salts[i - 1]);
    const Value weight = g.Parameter(StrCat("w", i), w.type(), w);
    x = g.Tanh(g.DotGeneral(x, weight, {{1}, {0}}));
  }
  return *g.Build({{"y", x}});
}

const Shape2 kModel = {8, {16, 32, 48}, {1, 2}};
const Shape2 kLonger = {8, {16, 32, 48, 64}, {1, 2, 3}};

class WeightPartsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  SessionStatistics Run(const Shape2& shape) {
    backends::CompileOptions options;
    options.target = GetParam();
    options.threads = 2;
    options.cpu_kernels = backends::CpuKernels::kGenerated;
    options.rewrites = backends::Rewrites::kNone;
    SessionOptions session_options = StandardSessionOptions(options, folder_);
    session_options.log = [this](std::string_view line) {
      log_.emplace_back(line);
    };
    Session session(std::move(session_options), &threads_);
    const Graph graph = Layers(shape);
    const Literal x = Values({shape.rows, shape.widths[0]}, 99);
    const auto actual = session.Run(graph, {&x, 1});
    const auto expected = Evaluate(graph, {&x, 1});
    EXPECT_TRUE(actual.ok() && expected.ok()) << actual.status();
    if (!actual.ok()) return {};
    for (int64_t i = 0; i < (*expected)[0].element_count(); ++i) {
      EXPECT_NEAR((*actual)[0].AsDouble(i), (*expected)[0].AsDouble(i), 1e-4);
    }
    return session.statistics();
  }
  // As "found + made", or "restored".
  std::string Parts(const Shape2& shape) {
    const SessionStatistics statistics = Run(shape);
    if (statistics.weights_restored > 0) return "restored";
    return StrCat(statistics.parts_found, " + ", statistics.parts_made);
  }
  std::vector<DiskStore::Entry> Entries() {
    return (*DiskStore::Open({.folder = folder_}))->ListKind(kWeightsKind);
  }
  static uint64_t BytesOf(const std::vector<DiskStore::Entry>& entries) {
    uint64_t bytes = 0;
    for (const DiskStore::Entry& entry : entries) bytes += entry.bytes;
    return bytes;
  }

  const std::string folder_ =
      StrCat(testing::TempDir(), "/weight_parts_", GetParam());
  runtime::ThreadPool threads_{2};
  std::vector<std::string> log_;
};

TEST_P(WeightPartsTest, AnotherModelPreparesWhatIsNew) {
  EXPECT_EQ(Parts(kModel), "0 + 2");
  EXPECT_EQ(Parts(kModel), "restored");
  EXPECT_EQ(Parts(kLonger), "2 + 1");
  EXPECT_EQ(Parts(kLonger), "restored");
  // One layer has other weights; then all have.
  EXPECT_EQ(Parts({8, {16, 32, 48}, {1, 5}}), "1 + 1");
  EXPECT_EQ(Parts({8, {16, 32, 48}, {6, 7}}), "0 + 2");
}

// The list of an entry that has nothing itself leads to who has it.
TEST_P(WeightPartsTest, TheSameWeightsInAnotherGraphPrepareNothing) {
  Parts(kModel);
  const uint64_t bytes = BytesOf(Entries());
  for (const int64_t rows : {24, 40}) {
    const Shape2 more_rows = {rows, kModel.widths, kModel.salts};
    EXPECT_EQ(Parts(more_rows), "2 + 0");
    EXPECT_EQ(Parts(more_rows), "restored");
  }
  EXPECT_LT(BytesOf(Entries()), bytes + 4096);
}

TEST_P(WeightPartsTest, WhatReferredToIsGoneIsPreparedAgain) {
  Parts(kModel);
  const std::string first = Entries().at(0).path;
  EXPECT_EQ(Parts(kLonger), "2 + 1");
  fs::remove(first);
  EXPECT_EQ(Parts(kLonger), "1 + 2");
  EXPECT_EQ(Parts(kLonger), "restored");
  EXPECT_EQ(Parts(kModel), "2 + 0");
  EXPECT_TRUE(log_.empty());
}

TEST_P(WeightPartsTest, DamagedPartsAreNotUsed) {
  Parts(kModel);
  const std::string path = Entries().at(0).path;
  const auto size = static_cast<int64_t>(fs::file_size(path));
  // In the weights, and in the list at the end.
  for (const int64_t at : {size / 2, size - 200}) {
    FlipBitOfFile(path, at * 8);
    EXPECT_EQ(Parts(kLonger), "0 + 3") << at;
    fs::remove_all(folder_ + "/v1/weights");
    EXPECT_EQ(Parts(kModel), "0 + 2");
  }
}

TEST_P(WeightPartsTest, WhatOthersMayWriteIsNotUsed) {
  Parts(kModel);
  fs::permissions(Entries().at(0).path, fs::perms::others_write,
                  fs::perm_options::add);
  EXPECT_EQ(Parts(kLonger), "0 + 3");
}

INSTANTIATE_TEST_SUITE_P(All, WeightPartsTest, testing::Values("cpu"));

TEST(WeightParts, ListsAndBack) {
  std::vector<WeightPart> parts(3);
  parts[1].identity = Sha256Of("part");
  parts[2] = {Sha256Of("other"), PartPlace{Sha256Of("entry"), 300}};
  const std::string bytes = EncodeParts(parts);
  const auto decode = [](std::string_view text) {
    return DecodeParts(std::as_bytes(std::span(text)));
  };
  const auto again = decode(bytes);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*again)[i].identity, parts[i].identity);
    EXPECT_EQ((*again)[i].elsewhere, parts[i].elsewhere);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode(bytes.substr(0, size)).status().code(),
              StatusCode::kDataLoss);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    decode(WithFlippedBit(bytes, bit)).status().IgnoreError();
  }
  EXPECT_FALSE(decode(bytes + "x").ok());
}

}  // namespace
}  // namespace encore::cache
