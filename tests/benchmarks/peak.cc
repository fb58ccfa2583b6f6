// What a core and all cores of this machine do at most, for other figures to be
// shares of.
//
//   peak [--json] [THREADS]
//
// Multiply-adds on registers alone, by dtype and instruction set, in GFLOP/s
// (of integers: in as many operations); and what is read, updated in place or
// copied in each level of cache and in memory, in GB/s, a byte that is written
// counting beside the one that is read. As `encore tune --machine` measures
// them (backends/cpu/measure).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/measure/measure_machine.h"
#include "encore/backends/cpu/measure/rates.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {
namespace {

// Each figure is the best of so many measurements.
constexpr int kRounds = 3;

struct Figure {
  std::string name, unit;
  double one = 0, all = 0;
};

class Peaks {
 public:
  explicit Peaks(int threads)
      : frame_(HostFrame(threads)), one_(1), all_(threads) {}

  void MeasureProducts();
  void MeasureMemory();
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  template <typename Rate>  // of a pool, per second
  void Add(std::string name, std::string unit, const Rate& rate) {
    Figure figure{std::move(name), std::move(unit)};
    for (int round = 0; round < kRounds; ++round) {
      figure.one = std::max(figure.one, rate(&one_) * 1e-9);
      figure.all = std::max(figure.all, rate(&all_) * 1e-9);
    }
    figures_.push_back(std::move(figure));
  }

  const MachineProfile frame_;
  runtime::ThreadPool one_, all_;
  std::vector<Figure> figures_;
};

void Peaks::MeasureProducts() {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const Product product : kProducts) {
      if (!Has(isa, product)) continue;
      Add(StrCat(Name(product), " ", Name(isa)), "GFLOP/s",
          [&](runtime::ThreadPool* threads) {
            return ProductRate(isa, product, threads);
          });
    }
  }
}

void Peaks::MeasureMemory() {
  constexpr std::pair<std::string_view, MemoryLevel> kLevels[] = {
      {"L1", MemoryLevel::kL1},
      {"L2", MemoryLevel::kL2},
      {"L3", MemoryLevel::kL3},
      {"memory", MemoryLevel::kMemory}};
  for (const auto& [name, level] : kLevels) {
    if (level == MemoryLevel::kMemory) continue;
    const auto kibibytes = static_cast<double>(frame_.cache(level) >> 10);
    const bool shared = level == MemoryLevel::kL3;
    figures_.push_back({StrCat("size ", name), "KiB", kibibytes,
                        shared ? kibibytes : all_.size() * kibibytes});
  }
  constexpr std::pair<std::string_view, Traffic> kTraffic[] = {
      {"read", Traffic::kRead},
      {"update", Traffic::kUpdate},
      {"copy", Traffic::kCopy},
      {"stream", Traffic::kStream}};
  for (const auto& [name, level] : kLevels) {
    for (const auto& [what, traffic] : kTraffic) {
      if (traffic == Traffic::kStream && level != MemoryLevel::kMemory)
        continue;
      Add(StrCat(what, " ", name), "GB/s", [&](runtime::ThreadPool* threads) {
        return TrafficRate(frame_.isa, traffic,
                           LevelBytes(frame_, level, threads->size()), threads);
      });
    }
  }
}

void Print(const std::vector<Figure>& figures, int threads) {
  std::printf("| | unit | 1 thread | %d threads |\n|---|---|---|---|\n",
              threads);
  for (const Figure& f : figures) {
    std::printf("| %s | %s | %.1f | %.1f |\n", f.name.c_str(), f.unit.c_str(),
                f.one, f.all);
  }
}

// {"NAME": [one, all], …}
void PrintJson(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& f : figures) {
    StrAppend(&text, text.empty() ? "{" : ", ", "\"", f.name, "\": [", f.one,
              ", ", f.all, "]");
  }
  std::printf("%s}\n", text.c_str());
}

int Run(const std::vector<std::string_view>& arguments) {
  bool json = false;
  int64_t threads = std::thread::hardware_concurrency();
  for (const std::string_view argument : arguments) {
    const auto number = ParseInt64(argument);
    if (argument == "--json") {
      json = true;
    } else if (number && *number >= 1 && *number <= 1024) {
      threads = *number;
    } else {
      std::fprintf(stderr, "usage: peak [--json] [THREADS]\n");
      return 2;
    }
  }
  if (HostCpu().isa == Isa::kNone) {
    std::fprintf(stderr, "this machine has neither AVX2 nor AVX-512\n");
    return 1;
  }
  Peaks peaks(static_cast<int>(threads));
  peaks.MeasureProducts();
  peaks.MeasureMemory();
  if (json) {
    PrintJson(peaks.figures());
  } else {
    Print(peaks.figures(), static_cast<int>(threads));
  }
  return 0;
}

}  // namespace
}  // namespace encore::backends::cpu

int main(int argc, char** argv) {
  return encore::backends::cpu::Run({argv + 1, argv + argc});
}
