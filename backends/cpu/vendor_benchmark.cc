// Generated kernels and oneDNN's in turns, each as the graph of one node that a
// session would replay, on one thread: the classes of vendor/efficiency.h; then
// our pool with single-threaded pieces beside oneDNN with its own threads.
//
//   bazel run //backends/cpu:vendor_benchmark [-- ROUNDS [efficiency|threads]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dnnl.hpp"
#include "encore/backends/cpu/bound_graph.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {
namespace {

double Seconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Each of `runs` in turns; the least seconds of each.
std::vector<double> InTurns(int rounds,
                            const std::vector<std::function<void()>>& runs) {
  std::vector<double> least(runs.size(), 1e9);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i]();
      for (int again = 0; again < 3; ++again) {
        least[i] = std::min(least[i], Seconds(runs[i]));
      }
    }
  }
  return least;
}

// What the graph gives to the library; null where that is nothing.
std::optional<VendorProgram> VendorOf(const BoundGraph& bound) {
  for (const runtime::Step& step : bound.steps()) {
    if (auto program = bound.VendorOf(step)) return program;
  }
  return std::nullopt;
}

struct Conv {
  int64_t c, o, height, width, window_height, window_width, stride, groups;
};

// With the padding of windows in the middle of their points.
Graph ConvGraph(const Conv& s) {
  const int64_t ph = s.window_height / 2, pw = s.window_width / 2;
  const auto out = [&](int64_t size, int64_t window, int64_t pad) {
    return (size + 2 * pad - window) / s.stride + 1;
  };
  return ParsedGraph(StrCat(
      "graph g(%x: f32[1,", s.c, ",", s.height, ",", s.width,
      "], %w: param f32[", s.o, ",", s.c / s.groups, ",", s.window_height, ",",
      s.window_width, "]) -> f32[1,", s.o, ",",
      out(s.height, s.window_height, ph), ",", out(s.width, s.window_width, pw),
      "] {\n  %d = convolution(%x, %w) "
      "{strides = [",
      s.stride, ",", s.stride, "], padding_low = [", ph, ",", pw,
      "], padding_high = [", ph, ",", pw,
      "], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = ",
      s.groups, "}\n  %y = relu(%d)\n  return %y\n}"));
}

Graph DotGraph(int64_t m, int64_t k, int64_t n) {
  return ParsedGraph(StrCat("graph g(%x: f32[", m, ",", k, "], %w: param f32[",
                            k, ",", n, "]) -> f32[", m, ",", n,
                            "] {\n  %d = dot_general(%x, %w) {contract = "
                            "[1]x[0]}\n  %y = relu(%d)\n  return %y\n}"));
}

Graph BatchGraph(int64_t b, int64_t m, int64_t k, int64_t n) {
  return ParsedGraph(
      StrCat("graph g(%x: f32[", b, ",", m, ",", k, "], %w: f32[", b, ",", n,
             ",", k, "]) -> f32[", b, ",", m, ",", n,
             "] {\n  %d = dot_general(%x, %w) {contract = [2]x[2], "
             "batch = [0]x[0]}\n  %y = relu(%d)\n  return %y\n}"));
}

struct Case {
  std::string name;
  Graph graph;
};

constexpr Conv kConvs[] = {
    // kRows
    {256, 64, 56, 56, 1, 1, 1, 1},
    {64, 256, 56, 56, 1, 1, 1, 1},
    {128, 512, 28, 28, 1, 1, 1, 1},
    {512, 128, 28, 28, 1, 1, 1, 1},
    {96, 24, 40, 40, 1, 1, 1, 1},
    {24, 96, 80, 80, 1, 1, 1, 1},
    {384, 384, 20, 20, 1, 1, 1, 1},
    {640, 160, 7, 7, 1, 1, 1, 1},
    // kWindow
    {64, 64, 56, 56, 3, 3, 1, 1},
    {128, 128, 28, 28, 3, 3, 1, 1},
    {96, 24, 80, 80, 3, 3, 1, 1},
    {32, 64, 60, 60, 5, 5, 2, 1},
    // kDeep
    {256, 256, 14, 14, 3, 3, 1, 1},
    {512, 512, 7, 7, 3, 3, 1, 1},
    {256, 256, 28, 28, 3, 3, 2, 1},
    // kLine
    {256, 512, 512, 1, 5, 1, 1, 1},
    {128, 128, 1, 1000, 1, 3, 1, 1},
    {480, 60, 1, 40, 1, 3, 1, 1},
    {80, 384, 1, 1500, 1, 3, 2, 1},
    // kPoint
    {256, 512, 56, 56, 1, 1, 2, 1},
    {512, 1024, 28, 28, 1, 1, 2, 1},
    {64, 128, 40, 40, 1, 1, 2, 1},
    // kFewChannels
    {3, 32, 300, 300, 3, 3, 1, 1},
    {8, 32, 100, 200, 5, 5, 1, 1},
    {1, 64, 128, 128, 7, 7, 1, 1},
    // kStridedFewChannels
    {3, 64, 224, 224, 7, 7, 2, 1},
    {3, 16, 224, 224, 3, 3, 2, 1},
    {3, 32, 400, 400, 3, 3, 2, 1},
    {8, 32, 172, 264, 5, 5, 3, 1},
    // kFewResults
    {32, 1, 170, 90, 7, 3, 1, 1},
    {8, 1, 170, 260, 5, 5, 1, 1},
    {64, 3, 100, 100, 3, 3, 1, 1},
    // kDepthwise
    {96, 96, 56, 56, 3, 3, 1, 96},
    {192, 192, 28, 28, 3, 3, 1, 192},
    {384, 384, 14, 14, 3, 3, 1, 384},
    {192, 192, 40, 40, 5, 5, 1, 192},
    {48, 48, 160, 160, 3, 3, 1, 48},
    // kStridedDepthwise
    {96, 96, 112, 112, 3, 3, 2, 96},
    {144, 144, 56, 56, 3, 3, 2, 144},
    {192, 192, 28, 28, 3, 3, 2, 192},
    {192, 192, 40, 40, 5, 5, 2, 192},
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 1024, 1024},
                                           {1, 768, 3072},
                                           {1, 4096, 1000},
                                           {8, 512, 512},
                                           {16, 768, 768},
                                           {24, 256, 1024},
                                           {64, 512, 512},
                                           {128, 768, 768},
                                           {256, 1024, 512},
                                           {2000, 256, 64}}) {
    cases.push_back({StrCat("matmul ", m, "x", k, "x", n), DotGraph(m, k, n)});
  }
  for (const auto& [b, m, k, n] :
       std::vector<std::array<int64_t, 4>>{{12, 128, 64, 128},
                                           {12, 128, 128, 64},
                                           {16, 64, 64, 64},
                                           {8, 200, 40, 200}}) {
    cases.push_back({StrCat("batched ", b, " x ", m, "x", k, "x", n),
                     BatchGraph(b, m, k, n)});
  }
  for (const Conv& s : kConvs) {
    cases.push_back({StrCat("conv ", s.c, "-", s.o, " ", s.height, "x", s.width,
                            " ", s.window_height, "x", s.window_width,
                            " stride ", s.stride, " groups ", s.groups),
                     ConvGraph(s)});
  }
  return cases;
}

void MeasureEfficiency(int rounds) {
  runtime::ThreadPool pool(1);
  std::printf("one thread, %s: ms generated, oneDNN; ratio\n",
              std::string(Name(HostCpu().isa)).c_str());
  for (const Case& c : Cases()) {
    BoundGraph generated(c.graph, CpuKernels::kGenerated, &pool);
    BoundGraph vendor(c.graph, CpuKernels::kVendor, &pool);
    const std::optional<VendorProgram> program = VendorOf(vendor);
    if (!program) continue;
    const auto seconds =
        InTurns(rounds, {std::ref(generated), std::ref(vendor)});
    const bool pack = program->packed_bytes > 0;
    const ShapeClass shape = ClassOf(*program, pack);
    std::printf("%-44s %-17s %8.4f %8.4f %6.2f\n", c.name.c_str(),
                std::string(Name(shape)).c_str(), seconds[0] * 1e3,
                seconds[1] * 1e3, seconds[0] / seconds[1]);
    std::fflush(stdout);
  }
}

// oneDNN with threads of its own, in the layouts that it asks for.
class OwnThreads {
 public:
  OwnThreads(const VendorProgram& p, int threads) : threads_(threads) {
    library_->omp_set_num_threads(threads);
    const auto any = [](const std::vector<int64_t>& dims) {
      return dnnl::memory::desc(
          dims, dnnl::memory::data_type::f32,
          static_cast<dnnl::memory::format_tag>(dnnl_format_tag_any));
    };
    const auto plain = [](const VendorTensor& t) {
      return dnnl::memory::desc(t.dims, dnnl::memory::data_type::f32,
                                t.strides);
    };
    if (p.kind == VendorProgram::Kind::kMatmul) {
      const dnnl::matmul::primitive_desc description(
          engine_, plain(p.source),
          p.packed_bytes > 0 ? any(p.weights.dims) : plain(p.weights),
          plain(p.result));
      Make(description, dnnl::matmul(description));
      return;
    }
    std::vector<int64_t> weights = p.weights.dims, dilations = p.dilations;
    for (int64_t& dilation : dilations) --dilation;
    if (p.groups > 1) {
      weights[0] /= p.groups;
      weights.insert(weights.begin(), p.groups);
    }
    const dnnl::convolution_forward::primitive_desc description(
        engine_, dnnl::prop_kind::forward_inference,
        dnnl::algorithm::convolution_direct, any(p.source.dims), any(weights),
        any(p.result.dims), p.strides, dilations, p.padding_low,
        p.padding_high);
    Make(description, dnnl::convolution_forward(description));
  }

  void operator()() {
    library_->omp_set_num_threads(threads_);
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  template <typename Description>
  void Make(const Description& description, const dnnl::primitive& primitive) {
    primitive_ = primitive;
    arguments_ = {
        {DNNL_ARG_SRC, dnnl::memory(description.src_desc(), engine_)},
        {DNNL_ARG_WEIGHTS, dnnl::memory(description.weights_desc(), engine_)},
        {DNNL_ARG_DST, dnnl::memory(description.dst_desc(), engine_)}};
    // Memory that nobody has written is one page of zeros.
    for (auto& [role, memory] : arguments_) {
      std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
    }
  }

  int threads_;
  const VendorLibrary* library_ = *LoadVendorLibrary();
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

void MeasureThreads(int rounds) {
  runtime::ThreadPool one(1), two(2);
  std::printf(
      "\nms: our pool, 1 and 2 threads (row-major in and out, relu); oneDNN's "
      "own threads, 1 and 2 (its layouts, no relu); speed-up of each\n");
  for (const Case& c : Cases()) {
    BoundGraph pool_one(c.graph, CpuKernels::kVendor, &one);
    BoundGraph pool_two(c.graph, CpuKernels::kVendor, &two);
    const std::optional<VendorProgram> program = VendorOf(pool_one);
    if (!program) continue;
    OwnThreads own_one(*program, 1), own_two(*program, 2);
    const auto s = InTurns(rounds, {std::ref(pool_one), std::ref(pool_two),
                                    std::ref(own_one), std::ref(own_two)});
    std::printf("%-44s %8.4f %8.4f  %8.4f %8.4f   %5.2f %5.2f\n",
                c.name.c_str(), s[0] * 1e3, s[1] * 1e3, s[2] * 1e3, s[3] * 1e3,
                s[0] / s[1], s[2] / s[3]);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace encore::backends::cpu

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const std::string part = argc > 2 ? argv[2] : "";
  if (part != "threads") encore::backends::cpu::MeasureEfficiency(rounds);
  if (part != "efficiency") encore::backends::cpu::MeasureThreads(rounds);
  return 0;
}
