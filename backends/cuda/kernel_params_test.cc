#include "encore/backends/cuda/kernel_params.h"

#include <string>

#include "encore/ir/types/index_fault.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

KernelParams Sample() {
  const Dim n = Dim::OfSymbol(0), m = Dim::OfSymbol(1);
  KernelParams params;
  params.launches.push_back({.entry = "k0",
                             .grid = {FloorDiv(n + 255, 256), m, 1},
                             .block = {256, 2, 1},
                             .shared_bytes = 4 * m});
  params.launches.push_back({.entry = "k1"});
  params.checks.push_back({.node = 3, .component = 1, .axis = 2});
  params.checks.push_back({.op = Op::kScatter});
  return params;
}

TEST(KernelParams, RoundTrip) {
  for (const KernelParams& params : {Sample(), KernelParams{}}) {
    const auto bytes = Encode(params);
    const auto read = DecodeKernelParams(bytes, 2);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, params);
  }
}

// Whatever is wrong with the bytes is an error or other params, that are sound.
TEST(KernelParams, AnyBytes) {
  const auto whole = Encode(Sample());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeKernelParams(std::span(whole).first(size), 2).ok());
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      const auto read = DecodeKernelParams(bytes, 2);
      if (!read.ok()) continue;
      EXPECT_TRUE(DecodeKernelParams(Encode(*read), 2).ok()) << at;
      for (const KernelParams::Launch& launch : read->launches) {
        EXPECT_LE(launch.block[0] * launch.block[1] * launch.block[2], 1024u);
        EXPECT_GE(launch.block[0] * launch.block[1] * launch.block[2], 1u);
      }
    }
  }
}

TEST(KernelParams, ArgsBeyondTheStep) {
  EXPECT_FALSE(DecodeKernelParams(Encode(Sample()), 1).ok());
}

TEST(KernelParams, Sizes) {
  const KernelParams params = Sample();
  const KernelParams::Launch& launch = params.launches[0];
  const auto size = SizeOf(launch, std::vector<int64_t>{1000, 7});
  ASSERT_TRUE(size);
  EXPECT_EQ(size->grid, (std::array<uint32_t, 3>{4, 7, 1}));
  EXPECT_EQ(size->shared_bytes, 28u);
  EXPECT_EQ(SizeOf(launch, std::vector<int64_t>{0, 7})->grid[0], 0u);

  const std::vector<int64_t> too_large = {1000, 65536};
  EXPECT_FALSE(SizeOf(launch, too_large));
  EXPECT_EQ(TooLarge(launch, too_large).message(),
            "kernel k0 has no grid for the sizes (1000, 65536): blocks "
            "[floor_div(s0 + 255, 256), s1, 1], shared memory 4*s1");
}

TEST(KernelParams, Faults) {
  const KernelParams params = Sample();
  FaultRecord record;
  uint32_t node = 99;
  EXPECT_TRUE(ReportFault(record, params, &node).ok());
  EXPECT_EQ(node, 99u);
  record.found = 1;
  record.position = 3;
  record.index = 7;
  record.count = 5;
  record.extent = 6;
  const Status status = ReportFault(record, params, &node);
  EXPECT_EQ(status.message(), IndexError("gather", {2, 7, 3, 5, 6}).message());
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(node, 3u);
  record.check = 1;
  EXPECT_EQ(ReportFault(record, params, nullptr).message(),
            IndexError("scatter", {0, 7, 3, 5, 6}).message());
  record.check = 2;
  EXPECT_EQ(ReportFault(record, params, nullptr).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace encore::backends::cuda
