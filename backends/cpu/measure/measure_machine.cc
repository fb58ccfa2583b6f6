#include "encore/backends/cpu/measure/measure_machine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/measure/rates.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {
namespace {

// Steps of the scale that numbers are put on: six to a doubling.
constexpr double kStepsPerDoubling = 6;
constexpr int kMostRuns = 20;
constexpr int64_t kMostLastCacheBytes = int64_t{64} << 20;
constexpr int64_t kLeastMemoryBytes = int64_t{128} << 20;

// What is measured, in units in which every number is well above 1.
class Numbers {
 public:
  // The numbers of a profile, to be read or set in one order.
  template <typename Profile, typename Visit>
  static void Each(Profile& p, Visit&& visit) {
    visit(p.f32_flops, 1e6);
    visit(p.f64_flops, 1e6);
    for (auto& rates : p.bandwidth) {
      visit(rates.one, 1e6);
      visit(rates.all, 1e6);
    }
    visit(p.dispatch_seconds, 1e-9);
    visit(p.wake_seconds, 1e-9);
  }

  explicit Numbers(const MachineProfile& profile) {
    Each(profile, [this](double value, double unit) {
      values_.push_back(value / unit);
    });
  }

  std::vector<double>& values() { return values_; }
  const std::vector<double>& values() const { return values_; }

  void Set(MachineProfile* profile) const {
    size_t i = 0;
    Each(*profile,
         [&](double& value, double unit) { value = values_[i++] * unit; });
  }

 private:
  std::vector<double> values_;
};

int64_t StepOf(double value) {
  return std::llround(std::log2(std::max(value, 1.0)) * kStepsPerDoubling);
}

// The number of a step, as a profile's text can say it.
double OnScale(int64_t step) {
  const double value = std::exp2(static_cast<double>(step) / kStepsPerDoubling);
  const double digits = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / digits) * digits;
}

// Rates are the largest of both, times the least.
void KeepBest(const MachineProfile& run, MachineProfile* best) {
  best->f32_flops = std::max(best->f32_flops, run.f32_flops);
  best->f64_flops = std::max(best->f64_flops, run.f64_flops);
  for (int i = 0; i < kMemoryLevels; ++i) {
    MachineProfile::Bandwidth& rates = best->bandwidth[i];
    rates.one = std::max(rates.one, run.bandwidth[i].one);
    rates.all = std::max({rates.all, run.bandwidth[i].all, rates.one});
  }
  best->dispatch_seconds =
      std::min(best->dispatch_seconds, run.dispatch_seconds);
  best->wake_seconds = std::min(best->wake_seconds, run.wake_seconds);
}

MachineProfile Run(const MachineProfile& frame, runtime::ThreadPool* one,
                   runtime::ThreadPool* all) {
  MachineProfile run = frame;
  run.f32_flops = ProductRate(frame.isa, Product::kF32, one);
  run.f64_flops = ProductRate(frame.isa, Product::kF64, one);
  const auto rate = [&](MemoryLevel level, runtime::ThreadPool* threads) {
    return TrafficRate(frame.isa, Traffic::kUpdate,
                       LevelBytes(frame, level, threads->size()), threads);
  };
  for (int i = 0; i < kMemoryLevels; ++i) {
    MachineProfile::Bandwidth& rates = run.bandwidth[i];
    rates.one = rate(static_cast<MemoryLevel>(i), one);
    rates.all = std::max(rates.one, rate(static_cast<MemoryLevel>(i), all));
  }
  // Beside what a step of a replay costs whatever the machine.
  const double dispatch = DispatchSeconds(one);
  run.dispatch_seconds = frame.dispatch_seconds + dispatch;
  run.wake_seconds = std::max(0.0, DispatchSeconds(all) - dispatch);
  return run;
}

std::string ShortText(const MachineProfile& p) {
  std::string text = StrCat("f32 ", p.f32_flops / 1e9,
                            " GFLOP/s; GB/s of one "
                            "core and all:");
  for (const MachineProfile::Bandwidth& rates : p.bandwidth) {
    StrAppend(&text, " ", rates.one / 1e9, " ", rates.all / 1e9);
  }
  return text;
}

}  // namespace

MachineProfile Coarse(const MachineProfile& measured,
                      const MachineProfile* kept) {
  Numbers numbers(measured);
  for (size_t i = 0; i < numbers.values().size(); ++i) {
    double& value = numbers.values()[i];
    const int64_t step = StepOf(value);
    value = OnScale(step);
    if (kept == nullptr) continue;
    const double before = Numbers(*kept).values()[i];
    if (std::abs(step - StepOf(before)) <= 1) value = before;
  }
  MachineProfile coarse = measured;
  numbers.Set(&coarse);
  for (MachineProfile::Bandwidth& rates : coarse.bandwidth) {
    rates.all = std::max(rates.all, rates.one);
  }
  return coarse;
}

MachineProfile HostFrame(int threads) {
  const CpuInfo& cpu = HostCpu();
  MachineProfile frame = AsIf(NearestClass(cpu, cpu.isa), cpu);
  frame.name = StrCat("measured-", Name(cpu.isa));
  frame.isa = cpu.isa;
  if (!NearestClass(cpu, cpu.isa).Covers(cpu)) {
    // The system says of some machines what all their sockets have.
    frame.cache_bytes = {cpu.l1_bytes, cpu.l2_bytes,
                         std::min(cpu.l3_bytes, kMostLastCacheBytes)};
  }
  frame.cores = threads;
  return frame;
}

int64_t LevelBytes(const MachineProfile& frame, MemoryLevel level,
                   int threads) {
  const auto shared = [&](int64_t bytes) {
    return std::max<int64_t>(bytes / threads, int64_t{1} << 20);
  };
  const int64_t last = frame.cache(MemoryLevel::kL3);
  switch (level) {
    case MemoryLevel::kL1:
    case MemoryLevel::kL2:
      return frame.cache(level) / 2;
    case MemoryLevel::kL3:
      return shared(std::max(last / 3, 2 * frame.cache(MemoryLevel::kL2)));
    case MemoryLevel::kMemory:
      return shared(std::max(4 * last, kLeastMemoryBytes));
  }
  return 0;
}

StatusOr<MachineProfile> MeasureMachine(
    const MachineProfile* kept, int threads,
    const std::function<void(std::string_view)>& log) {
  if (HostCpu().isa == Isa::kNone) {
    return FailedPreconditionError(
        "this machine has neither AVX2 nor AVX-512: nothing is compiled for "
        "it, so there is nothing to measure");
  }
  const MachineProfile frame = HostFrame(threads);
  runtime::ThreadPool one(1), all(threads);
  MachineProfile best = Run(frame, &one, &all);
  MachineProfile coarse = Coarse(best, kept);
  for (int run = 2; run <= kMostRuns; ++run) {
    KeepBest(Run(frame, &one, &all), &best);
    MachineProfile next = Coarse(best, kept);
    log(StrCat("run ", run, ": ", ShortText(next)));
    if (next == coarse) return next;
    coarse = next;
  }
  return FailedPreconditionError(
      StrCat("no two runs of ", kMostRuns,
             " agree: this machine is busy; measure again when it is not"));
}

}  // namespace encore::backends::cpu
