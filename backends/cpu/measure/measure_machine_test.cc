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
    f32 = std::max(f32, MultiplyAddRate(isa, /*f64=*/false));
    f64 = std::max(f64, MultiplyAddRate(isa, /*f64=*/true));
    near = std::max(near, CopyRate(isa, 16 << 10, &one));
    far = std::max(far, CopyRate(isa, 256 << 20, &one));
  }
  // A core has between a vector multiply-add every other cycle and four a
  // cycle, at some GHz.
  EXPECT_GT(f32, 1e9);
  EXPECT_LT(f32, 4e12);
  EXPECT_GT(f32, 1.3 * f64);
  EXPECT_GT(near, far);
  const double dispatch = DispatchSeconds(&one);
  EXPECT_GT(dispatch, 0);
  EXPECT_LT(dispatch, 1e-4);
}

}  // namespace
}  // namespace encore::backends::cpu
