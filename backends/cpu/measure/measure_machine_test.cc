#include "encore/backends/cpu/measure/measure_machine.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/measure/rates.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// A class whose numbers are all off by a factor.
MachineProfile Scaled(double factor) {
  MachineProfile p = MachineClasses()[0];
  p.f32_flops *= factor;
  p.f64_flops *= factor;
  for (auto& rates : p.bandwidth) {
    rates.one *= factor;
    rates.all *= factor;
  }
  p.dispatch_seconds *= factor;
  p.wake_seconds *= factor;
  return p;
}

TEST(MeasureMachine, TheScaleIsCoarseAndNotTooCoarse) {
  for (double factor = 0.5; factor < 2; factor *= 1.01) {
    const MachineProfile measured = Scaled(factor);
    const MachineProfile coarse = Coarse(measured, nullptr);
    EXPECT_NEAR(coarse.f32_flops / measured.f32_flops, 1, 0.07);
    EXPECT_NEAR(coarse.bandwidth[3].one / measured.bandwidth[3].one, 1, 0.07);
    EXPECT_NEAR(coarse.wake_seconds / measured.wake_seconds, 1, 0.07);
    // What is on the scale stays, and goes through the text as it is.
    EXPECT_EQ(ToText(Coarse(coarse, nullptr)), ToText(coarse));
    const auto read = ParseMachine(ToText(coarse));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(ToText(*read), ToText(coarse));
  }
}

// Two measurements that differ a little give one key, wherever the borders of
// the scale lie.
TEST(MeasureMachine, MeasuringAgainGivesTheSameProfile) {
  for (double factor = 0.5; factor < 2; factor *= 1.013) {
    const MachineProfile kept = Coarse(Scaled(factor), nullptr);
    for (const double noise : {0.92, 0.97, 1.0, 1.03, 1.08}) {
      EXPECT_EQ(ToText(Coarse(Scaled(factor * noise), &kept)), ToText(kept))
          << factor << " " << noise;
    }
    EXPECT_NE(ToText(Coarse(Scaled(factor * 1.5), &kept)), ToText(kept));
  }
}

TEST(MeasureMachine, RatesAreThoseOfSomeMachine) {
  const Isa isa = HostCpu().isa;
  if (isa == Isa::kNone) GTEST_SKIP() << "no code is generated for this CPU";
  double f32 = 0, f64 = 0, near = 0, far = 0;
  runtime::ThreadPool one(1);
  for (int i = 0; i < 5; ++i) {
    f32 = std::max(f32, ProductRate(isa, Product::kF32, &one));
    f64 = std::max(f64, ProductRate(isa, Product::kF64, &one));
    near = std::max(near, TrafficRate(isa, Traffic::kUpdate, 16 << 10, &one));
    far = std::max(far, TrafficRate(isa, Traffic::kUpdate, 256 << 20, &one));
  }
  // A core has between a vector multiply-add every other cycle and four a
  // cycle, at some GHz.
  EXPECT_GT(f32, 1e9);
  EXPECT_LT(f32, 4e12);
  EXPECT_GT(f32, 1.3 * f64);
  EXPECT_GT(near, far);
  for (const Product product : kProducts) {
    if (!Has(isa, product)) continue;
    // Four narrow products take no longer than a wide one.
    EXPECT_GT(ProductRate(isa, product, &one), f64 / 4) << Name(product);
  }
  for (const Traffic traffic :
       {Traffic::kRead, Traffic::kCopy, Traffic::kStream}) {
    EXPECT_GT(TrafficRate(isa, traffic, 256 << 20, &one), far / 8);
  }
  const double dispatch = DispatchSeconds(&one);
  EXPECT_GT(dispatch, 0);
  EXPECT_LT(dispatch, 1e-4);
}

TEST(MeasureMachine, BuffersFitTheirLevelAndNotTheOneAbove) {
  const MachineProfile frame = HostFrame(2);
  for (int i = 0; i < kMemoryLevels; ++i) {
    const auto level = static_cast<MemoryLevel>(i);
    for (const int threads : {1, 2, 64}) {
      const int64_t bytes = LevelBytes(frame, level, threads);
      if (level != MemoryLevel::kMemory) EXPECT_LT(bytes, frame.cache(level));
      if (i > 0) {
        EXPECT_GE(bytes * threads, frame.cache(static_cast<MemoryLevel>(i - 1)))
            << i << " " << threads;
      }
    }
  }
}

}  // namespace
}  // namespace encore::backends::cpu
