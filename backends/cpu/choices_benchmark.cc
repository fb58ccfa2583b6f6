// Whether the table of efficiencies (vendor/efficiency.def) chooses well: every
// product and convolution of whole models, by the generated kernel and by
// oneDNN's, where the model runs it, and which of them is chosen.
//
//   bazel run //backends/cpu:choices_benchmark -- ROUNDS THREADS MODEL.onnx…
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/bound_graph.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/options.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/replay/profiler.h"

namespace encore::backends::cpu {
namespace {

// A choice that costs over this much more than the other one is a bad one.
constexpr double kTolerated = 1.10;

struct Timed {
  double ms = 1e9;
  std::optional<VendorProgram> vendor;
};

// Steps by what they compute.
using Steps = std::map<std::vector<uint32_t>, Timed>;

Steps ByOrigins(const BoundGraph& bound) {
  Steps steps;
  for (const runtime::Step& step : bound.steps()) {
    if (runtime::LaunchOf(step) == nullptr) continue;
    steps[step.origins].vendor = bound.VendorOf(step);
  }
  return steps;
}

void Measure(BoundGraph* bound, Steps* steps) {
  runtime::Profiler profiler;
  for (int i = 0; i < 4; ++i) bound->Replay(&profiler);
  for (const auto& total : profiler.Totals()) {
    if (total.plan != bound->compiled().run) continue;
    const auto found = steps->find(bound->steps()[total.step].origins);
    if (found == steps->end()) continue;
    Timed& timed = found->second;
    timed.ms = std::min(timed.ms, static_cast<double>(total.min_ns) * 1e-6);
  }
}

std::string Describe(const VendorProgram& p) {
  const auto list = [](const std::vector<int64_t>& values) {
    std::string text;
    for (const int64_t value : values) {
      StrAppend(&text, text.empty() ? "" : "x", value);
    }
    return text;
  };
  std::string text = StrCat(list(p.source.dims), " * ", list(p.weights.dims));
  if (p.kind == VendorProgram::Kind::kConvolution) {
    StrAppend(&text, " /", list(p.strides), " g", p.groups);
  }
  return text;
}

// Kernels of one shape, which differ in their epilogue at most.
struct Row {
  int count = 0, by_vendor = 0;
  double generated = 1e9, vendor = 1e9;
  std::optional<VendorProgram> program;
};

void Print(const std::string& shape, const Row& row) {
  const VendorProgram& program = *row.program;
  const bool pack = program.packed_bytes > 0;
  const double predicted = VendorSeconds(MachineOf({}), program, pack) * 1e3;
  const double taken = row.by_vendor > 0 ? row.vendor : row.generated;
  const double best = std::min(row.generated, row.vendor);
  // What oneDNN would save must pay for loading it.
  const double load = row.by_vendor > 0
                          ? 0
                          : VendorLoadSeconds(program) * 1e3 / CallsPerLoad({});
  const bool bad = taken > kTolerated * (best + load);
  std::printf("  %3d x %8.4f %8.4f %6.2f  %5.2f  %-17s %-10s%s %s\n", row.count,
              row.generated, row.vendor, row.generated / row.vendor,
              predicted / row.vendor,
              std::string(Name(ClassOf(program, pack))).c_str(),
              row.by_vendor > 0 ? "onednn" : "generated", bad ? " BAD" : "",
              shape.c_str());
}

void MeasureModel(const std::string& path, int rounds,
                  runtime::ThreadPool* pool) {
  const auto graph = ImportFile(path);
  ENCORE_CHECK_OK(graph.status());
  BoundGraph generated(*graph, CpuKernels::kGenerated, pool);
  BoundGraph vendor(*graph, CpuKernels::kVendor, pool);
  const BoundGraph chosen(*graph, CpuKernels::kAuto, pool);
  Steps by_generated = ByOrigins(generated), by_vendor = ByOrigins(vendor);
  for (int round = 0; round < rounds; ++round) {
    Measure(&generated, &by_generated);
    Measure(&vendor, &by_vendor);
  }
  std::map<std::string, Row> rows;
  for (const auto& [origins, choice] : ByOrigins(chosen)) {
    const auto g = by_generated.find(origins), v = by_vendor.find(origins);
    if (g == by_generated.end() || v == by_vendor.end() || !v->second.vendor) {
      continue;
    }
    Row& row = rows[Describe(*v->second.vendor)];
    ++row.count;
    row.by_vendor += choice.vendor.has_value();
    row.generated = std::min(row.generated, g->second.ms);
    row.vendor = std::min(row.vendor, v->second.ms);
    row.program = v->second.vendor;
  }
  std::printf("%s\n", path.c_str());
  double sums[4] = {};
  for (const auto& [shape, row] : rows) {
    Print(shape, row);
    sums[0] += row.count * row.generated;
    sums[1] += row.count * row.vendor;
    sums[2] += row.count * (row.by_vendor > 0 ? row.vendor : row.generated);
    sums[3] += row.count * std::min(row.generated, row.vendor);
  }
  std::printf("  ms: generated %.3f, oneDNN %.3f, chosen %.3f, best %.3f\n",
              sums[0], sums[1], sums[2], sums[3]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace encore::backends::cpu

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: choices_benchmark ROUNDS THREADS MODEL.onnx...\n");
    return 2;
  }
  encore::runtime::ThreadPool pool(std::max(1, std::atoi(argv[2])));
  std::printf(
      "%d threads: ms generated, oneDNN; ratio; predicted / measured of "
      "oneDNN; class; chosen; shape\n",
      pool.size());
  for (int i = 3; i < argc; ++i) {
    encore::backends::cpu::MeasureModel(argv[i], std::atoi(argv[1]), &pool);
  }
  return 0;
}
