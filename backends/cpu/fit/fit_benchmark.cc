// How well the cpu backend's estimates choose: what the candidates for drawn
// kernels take on this machine, and what the one that is chosen by estimate
// takes beyond the best of them.
//
//   bazel run //backends/cpu/fit:fit_benchmark -- KERNELS THREADS SEED
//       [FILE.tsv]   measurements go to this file, or come from it if it is
//                    there
//       [RATIO]      candidates that are estimated to take over RATIO times the
//                    least, 12, are not measured
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/fit/drawn_kernels.h"
#include "encore/backends/cpu/fit/measured_kernels.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/backends/options.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {
namespace {

constexpr double kMostRatio = 12;  // where none is given
constexpr double kBudgetSeconds = 0.025;
constexpr double kTolerated = 1.30;

// Seconds by kernel and candidate.
using Measurements = std::map<std::pair<std::string, std::string>, double>;

Measurements ReadMeasurements(const std::string& path) {
  Measurements measurements;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto words = StrSplit(line, '\t');
    if (words.size() < 3) continue;
    if (const auto seconds = ParseNumber<double>(words[2])) {
      measurements[{std::string(words[0]), std::string(words[1])}] = *seconds;
    }
  }
  return measurements;
}

struct Judged {
  DrawnKernel kernel;
  std::vector<MeasuredCandidate> candidates;
  double chosen = 0, best = 0;
  size_t best_index = 0;
  std::string schedule;  // of the tiles, else the loops

  double excess() const { return chosen / best - 1; }
};

std::string ScheduleText(const KernelProblem& problem, Isa isa) {
  const auto flat = FlattenRequest(problem.request);
  const auto tile = flat ? MakeTileSchedule(*flat, problem.request.weights, isa)
                         : std::nullopt;
  if (!tile) return "loops";
  return StrCat(tile->in_place         ? "in place "
                : tile->plane_rows > 0 ? "planes "
                : tile->staging        ? "staged "
                                       : "",
                tile->rows, "x", tile->vectors, " of ", tile->lanes, ", ",
                tile->panels.empty() ? "" : "packed, ", tile->partitions,
                " parts");
}

// What the schedules of a kernel look like and count, tab-separated.
std::string Features(const KernelProblem& problem, Isa isa, int threads) {
  const auto flat = FlattenRequest(problem.request);
  const auto loops = LoopsOf(problem.request, isa);
  std::string text;
  if (loops) {
    double cycles = 0;
    for (const LoopNest& nest : *loops) cycles += nest.schedule.compute_cycles;
    const LoopNest& first = loops->front();
    StrAppend(&text, "loops=", cycles, " nests=", loops->size(),
              " moved=", flat->moved_bytes,
              " parts=", first.schedule.partitions,
              " lanes_v=", first.schedule.vector_variable);
  }
  const auto tile = flat ? MakeTileSchedule(*flat, problem.request.weights, isa)
                         : std::nullopt;
  if (tile) {
    StrAppend(&text, " tiles=", tile->compute_cycles,
              " tparts=", tile->partitions, " kind=",
              tile->in_place         ? "in_place"
              : tile->plane_rows > 0 ? "planes"
              : tile->staging        ? "staged"
                                     : "tiles",
              " tile=", tile->rows, "x", tile->vectors,
              " panels=", tile->panels.size(), " chunks=", tile->chunks);
  }
  if (const auto match =
          MatchVendor(*problem.request.region, problem.request.weights)) {
    const VendorProgram& p = match->program;
    StrAppend(&text, " shape=", Name(ClassOf(p, match->pack)),
              " vflops=", VendorFlops(isa, p),
              " bytes=", MovedBytes(p, match->pack), " pieces=", p.pieces());
  }
  const auto sum = SumRegion::Find(*problem.request.region);
  const auto windows =
      sum ? FindWindowedSum(*sum, problem.request.weights) : std::nullopt;
  if (windows) {
    for (const int outputs : {2, 4}) {
      const auto s = MakeWinogradSchedule(*windows, {outputs, threads}, isa);
      StrAppend(&text, " winograd", outputs, "=", s.cycles(), " wbytes",
                outputs, "=", s.weights_bytes(*windows));
    }
  }
  return text;
}

std::vector<Judged> Judge(int count, uint64_t seed,
                          const CompileOptions& options,
                          const std::string& path, double most_ratio,
                          runtime::ThreadPool* threads) {
  const Measurements known = ReadMeasurements(path);
  std::FILE* const out = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  std::vector<Judged> all;
  for (DrawnKernel& kernel : DrawKernels(count, seed)) {
    const KernelProblem problem(kernel);
    Judged judged;
    if (known.empty()) {
      auto measured = MeasureCandidates(problem, options, most_ratio,
                                        kBudgetSeconds, threads);
      ENCORE_CHECK_OK(measured.status()) << kernel.name;
      judged.candidates = *std::move(measured);
    } else {
      for (Candidate& candidate :
           CpuBackend()->Candidates(problem.request, options)) {
        const auto it = known.find({kernel.name, candidate.kernel});
        if (it == known.end()) continue;
        judged.candidates.push_back({std::move(candidate), it->second});
      }
    }
    if (judged.candidates.empty()) continue;
    judged.chosen = judged.best = CallSeconds(judged.candidates[0], options);
    for (size_t i = 0; i < judged.candidates.size(); ++i) {
      const double seconds = CallSeconds(judged.candidates[i], options);
      if (seconds >= judged.best) continue;
      judged.best = seconds;
      judged.best_index = i;
    }
    if (out != nullptr) {
      const std::string features =
          Features(problem, IsaOf(options), threads->size());
      for (const MeasuredCandidate& m : judged.candidates) {
        std::fprintf(out, "%s\t%s\t%.9f\t%.9f\t%.9f\t%s\t%s\n",
                     kernel.name.c_str(), m.candidate.kernel.c_str(), m.seconds,
                     m.candidate.seconds, m.candidate.load_seconds,
                     kernel.kind.c_str(), features.c_str());
      }
      std::fflush(out);
    }
    judged.schedule = ScheduleText(problem, IsaOf(options));
    judged.kernel = std::move(kernel);
    all.push_back(std::move(judged));
  }
  if (out != nullptr) std::fclose(out);
  return all;
}

void PrintSummary(const std::string& what, const std::vector<Judged>& all) {
  double sum = 0;
  int within = 0, count = 0;
  for (const Judged& judged : all) {
    if (!what.empty() && judged.kernel.kind != what) continue;
    ++count;
    sum += judged.excess();
    within += judged.chosen <= kTolerated * judged.best ? 1 : 0;
  }
  if (count == 0) return;
  std::printf("| %s | %d | %.2f %% | %.1f %% |\n",
              what.empty() ? "all" : what.c_str(), count, 100 * sum / count,
              100.0 * within / count);
}

void PrintWorst(std::vector<Judged> all) {
  std::ranges::sort(all, [](const Judged& a, const Judged& b) {
    return a.excess() > b.excess();
  });
  std::printf(
      "\n| kernel | tiles | chosen: ms, estimate | best: ms, estimate |\n");
  std::printf("|---|---|---|---|\n");
  for (size_t i = 0; i < std::min<size_t>(all.size(), 10); ++i) {
    const Judged& judged = all[i];
    const auto text = [](const MeasuredCandidate& m) {
      char line[120];
      std::snprintf(line, sizeof(line), "%s: %.4f, %.4f",
                    m.candidate.kernel.c_str(), m.seconds * 1e3,
                    m.candidate.seconds * 1e3);
      return std::string(line);
    };
    std::printf("| %s | %s | %s | %s |\n", judged.kernel.name.c_str(),
                judged.schedule.c_str(), text(judged.candidates[0]).c_str(),
                text(judged.candidates[judged.best_index]).c_str());
  }
}

void Run(int count, int thread_count, uint64_t seed, const std::string& path,
         double most_ratio) {
  runtime::ThreadPool threads(thread_count);
  CompileOptions options;
  options.threads = thread_count;
  const std::vector<Judged> all =
      Judge(count, seed, options, path, most_ratio, &threads);
  std::printf("machine %s, %d threads, seed %llu\n\n",
              MachineOf(options).name.c_str(), thread_count,
              static_cast<unsigned long long>(seed));
  std::printf("| kernels | count | mean excess | within 30 %% |\n");
  std::printf("|---|---|---|---|\n");
  for (const char* kind :
       {"product", "convolution", "map", "reduction", "elementwise", ""}) {
    PrintSummary(kind, all);
  }
  PrintWorst(all);
}

}  // namespace
}  // namespace encore::backends::cpu

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(
        stderr,
        "usage: fit_benchmark KERNELS THREADS SEED [FILE.tsv [RATIO]]\n");
    return 2;
  }
  encore::backends::cpu::Run(
      std::atoi(argv[1]), std::max(1, std::atoi(argv[2])),
      static_cast<uint64_t>(std::atoll(argv[3])), argc > 4 ? argv[4] : "",
      argc > 5 ? std::atof(argv[5]) : encore::backends::cpu::kMostRatio);
  return 0;
}
