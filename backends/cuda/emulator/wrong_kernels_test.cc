// Kernels with one mistake each (testdata/wrong.cu): each is refused, whatever
// the order of warps, with a message that names the mistake.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

// The message of the first of `seeds` launches that is refused.
std::string Refusal(std::string_view kernel, uint32_t blocks, bool third,
                    uint64_t seeds = 1) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    TestDevice device(ReadTestData("wrong.ptx"));
    device.options().seed = seed;
    device.options().most_steps = 200000;
    std::vector<int32_t> values(64);
    for (int i = 0; i < 64; ++i) values[i] = i % 2 == 0 ? i : -i;
    const Buffer x = device.Add(values);
    const Buffer y = device.Add(std::vector<int32_t>(64));
    const Buffer z = device.Add(std::vector<int32_t>(1));
    const Status status =
        third ? device.Run(kernel, {blocks, 1, 1}, {64, 1, 1}, x, y, z)
              : device.Run(kernel, {blocks, 1, 1}, {64, 1, 1}, x, y);
    if (!status.ok()) return Message(status);
  }
  return "";
}

void ExpectRefusal(std::string_view kernel, std::string_view part,
                   uint32_t blocks = 1, bool third = false) {
  for (int run = 0; run < 2; ++run) {
    const std::string message = Refusal(kernel, blocks, third);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(StrCat("kernel ", kernel, ", PTX line ")))
        << message;
    EXPECT_NE(message.find("thread ("), std::string::npos) << message;
  }
}

TEST(WrongKernelsTest, MissingBarrier) {
  // Whoever comes first reads what nobody wrote, or races.
  const std::string message = Refusal("missing_barrier", 1, false);
  EXPECT_TRUE(message.find("was never written") != std::string::npos ||
              message.find("races with a write") != std::string::npos)
      << message;
}

TEST(WrongKernelsTest, MissingWarpBarrier) {
  ExpectRefusal("missing_warp_barrier", "races with a write in line ");
}

TEST(WrongKernelsTest, MissingSecondBarrier) {
  const std::string message = Refusal("missing_second_barrier", 1, false);
  EXPECT_NE(message.find("races with a "), std::string::npos) << message;
}

TEST(WrongKernelsTest, BlocksRace) {
  ExpectRefusal("blocks_race", "of another block; no barrier, fence or atomic",
                3);
}

TEST(WrongKernelsTest, MissingFence) {
  ExpectRefusal("missing_fence", "of another block", 2, true);
}

TEST(WrongKernelsTest, OutOfBounds) {
  ExpectRefusal("out_of_bounds",
                "thread (63, 0, 0) of block (0, 0, 0): reads 4 bytes of global "
                "memory at 0x200000100: no allocation is there; buffer 0 has "
                "256 bytes from 0x200000000 on");
}

TEST(WrongKernelsTest, SharedOutOfBounds) {
  ExpectRefusal("shared_out_of_bounds",
                "out of bounds, the block has 256 bytes");
}

TEST(WrongKernelsTest, Misaligned) {
  ExpectRefusal("misaligned", "misaligned, it must be a multiple of 16");
}

TEST(WrongKernelsTest, Uninitialized) {
  ExpectRefusal("uninitialized", "was never written");
}

TEST(WrongKernelsTest, EarlyRead) {
  ExpectRefusal("early_read",
                "a cp.async writes there that has not been waited for");
}

TEST(WrongKernelsTest, WaitForWrongGroup) {
  ExpectRefusal("wait_for_wrong_group",
                "a cp.async writes there that has not been waited for");
}

TEST(WrongKernelsTest, BadShuffleMask) {
  ExpectRefusal("bad_shuffle_mask",
                "its member mask names lanes that do not come");
}

TEST(WrongKernelsTest, NotInMask) {
  ExpectRefusal("not_in_mask", "the lane is not in its own member mask");
}

TEST(WrongKernelsTest, ReadsAbsentLane) {
  ExpectRefusal("reads_absent_lane",
                "reads from lane 16, which does not take part or has exited");
}

TEST(WrongKernelsTest, DivergentBarrier) {
  ExpectRefusal("divergent_barrier",
                "divergent: all 32 live lanes of the warp must execute it");
}

// Threads beyond the data may end before a barrier that others come to.
TEST(WrongKernelsTest, EarlyExitIsFine) {
  TestDevice device(ReadTestData("wrong.ptx"));
  const Buffer x = device.Add(std::vector<int32_t>(64, 3));
  const Buffer y = device.Add(std::vector<int32_t>(64));
  const Status status =
      device.Run("early_exit", {1, 1, 1}, {64, 1, 1}, x, y, int32_t{40});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(device.Get<int32_t>(y)[39], 3);
  EXPECT_EQ(device.Get<int32_t>(y)[40], 0);
}

TEST(WrongKernelsTest, BarriersApart) {
  ExpectRefusal("barriers_apart", "waits forever at a barrier");
}

TEST(WrongKernelsTest, Endless) {
  ExpectRefusal("endless", "the 200000 steps of the launch are used up");
}

}  // namespace
}  // namespace encore::ptx
