// Generated kernels and oneDNN's in turns, each as the graph of one node that a
// session would replay, on one thread: the rows of vendor/efficiency.def; then
// our pool with single-threaded pieces beside oneDNN with its own threads.
//
//   bazel run //backends/cpu:vendor_benchmark [-- ROUNDS [efficiency|threads]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dnnl.hpp"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/executable.h"
#include "encore/runtime/replayer.h"
#include "encore/runtime/weights.h"

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

// A graph compiled with one family of kernels and bound to inputs of ones.
class Bound {
 public:
  Bound(const Graph& graph, CpuKernels kernels, runtime::ThreadPool* pool) {
    CompileOptions options;
    options.cpu_kernels = kernels;
    options.threads = pool->size();
    auto compiled = Compile(graph, options, AllBackends());
    ENCORE_CHECK_OK(compiled.status());
    for (const runtime::Program& program : compiled->programs) {
      if (!IsVendor(program.params)) continue;
      const auto vendor = DecodeVendor(program.params);
      if (vendor->packs) continue;
      program_ = vendor->program;
    }
    std::vector<std::shared_ptr<runtime::Device>> devices;
    for (const runtime::DeviceInfo& info : compiled->devices) {
      devices.push_back(*(*FindBackend(info.backend, AllBackends()))
                             ->NewDevice(info.ordinal));
    }
    const auto executable = runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(*std::move(compiled)), devices,
        pool);
    ENCORE_CHECK_OK(executable.status());
    std::vector<runtime::Blob> parameters;
    for (const Graph::Argument& argument : graph.arguments()) {
      const TensorType& type = graph.type(argument.value);
      int64_t elements = 1;
      for (const Dim& dim : type.shape.dims()) elements *= dim.constant();
      const std::vector<float> ones(elements, 0.5f);
      const auto blob = runtime::Blob::Copy(std::as_bytes(std::span(ones)));
      (argument.is_parameter ? parameters : inputs_).push_back(blob);
    }
    const auto weights =
        runtime::Weights::Prepare(*executable, parameters, pool);
    ENCORE_CHECK_OK(weights.status());
    auto replayer = runtime::Replayer::Create(*executable, *weights, pool);
    ENCORE_CHECK_OK(replayer.status());
    replayer_ = *std::move(replayer);
    size_t next = 0;
    for (const Graph::Argument& argument : graph.arguments()) {
      if (argument.is_parameter) continue;
      std::vector<int64_t> dims;
      for (const Dim& dim : graph.shape(argument.value).dims()) {
        dims.push_back(dim.constant());
      }
      const runtime::Blob& blob = inputs_[next];
      ENCORE_CHECK_OK(
          replayer_->BindInput(next++, blob.bytes.data(),
                               static_cast<int64_t>(blob.bytes.size()), dims));
    }
  }

  void operator()() { ENCORE_CHECK_OK(replayer_->Replay()); }
  const VendorProgram& program() const { return program_; }

 private:
  VendorProgram program_;
  std::vector<runtime::Blob> inputs_;
  std::unique_ptr<runtime::Replayer> replayer_;
};

struct Conv {
  int64_t c, o, size, window, stride, groups;
  int64_t out() const { return (size + window / 2 * 2 - window) / stride + 1; }
};

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

Graph ConvGraph(const Conv& s) {
  const int64_t pad = s.window / 2;
  return Parse(StrCat(
      "graph g(%x: f32[1,", s.c, ",", s.size, ",", s.size, "], %w: param f32[",
      s.o, ",", s.c / s.groups, ",", s.window, ",", s.window, "]) -> f32[1,",
      s.o, ",", s.out(), ",", s.out(),
      "] {\n  %d = convolution(%x, %w) {strides = [", s.stride, ",", s.stride,
      "], padding_low = [", pad, ",", pad, "], padding_high = [", pad, ",", pad,
      "], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = ",
      s.groups, "}\n  %y = relu(%d)\n  return %y\n}"));
}

Graph DotGraph(int64_t m, int64_t k, int64_t n) {
  return Parse(StrCat("graph g(%x: f32[", m, ",", k, "], %w: param f32[", k,
                      ",", n, "]) -> f32[", m, ",", n,
                      "] {\n  %d = dot_general(%x, %w) {contract = "
                      "[1]x[0]}\n  %y = relu(%d)\n  return %y\n}"));
}

Graph BatchGraph(int64_t b, int64_t m, int64_t k, int64_t n) {
  return Parse(StrCat("graph g(%x: f32[", b, ",", m, ",", k, "], %w: f32[", b,
                      ",", n, ",", k, "]) -> f32[", b, ",", m, ",", n,
                      "] {\n  %y = dot_general(%x, %w) {contract = [2]x[2], "
                      "batch = [0]x[0]}\n  return %y\n}"));
}

struct Case {
  std::string name;
  Graph graph;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 1024, 1024},
                                           {1, 768, 3072},
                                           {8, 512, 512},
                                           {16, 768, 768},
                                           {64, 512, 512},
                                           {128, 768, 768},
                                           {256, 1024, 512}}) {
    cases.push_back({StrCat("matmul ", m, "x", k, "x", n), DotGraph(m, k, n)});
  }
  cases.push_back({"batched 12 x 128x64x128", BatchGraph(12, 128, 64, 128)});
  cases.push_back({"batched 6 x 64x32x64", BatchGraph(6, 64, 32, 64)});
  for (const Conv& s : std::vector<Conv>{{256, 64, 56, 1, 1, 1},
                                         {64, 256, 56, 1, 1, 1},
                                         {96, 24, 40, 1, 1, 1},
                                         {64, 64, 56, 3, 1, 1},
                                         {128, 128, 28, 3, 1, 1},
                                         {256, 256, 14, 3, 1, 1},
                                         {512, 512, 7, 3, 1, 1},
                                         {3, 64, 224, 7, 2, 1},
                                         {3, 16, 224, 3, 2, 1},
                                         {96, 96, 56, 3, 1, 96},
                                         {96, 96, 57, 5, 2, 96}}) {
    cases.push_back(
        {StrCat("conv ", s.c, "-", s.o, " ", s.size, "^2 ", s.window, "x",
                s.window, " stride ", s.stride, " groups ", s.groups),
         ConvGraph(s)});
  }
  return cases;
}

void MeasureEfficiency(int rounds) {
  const Isa isa = HostCpu().isa;
  runtime::ThreadPool pool(1);
  std::vector<double> logs[2], counts(kShapeClasses);
  for (auto& list : logs) list.resize(kShapeClasses);
  std::printf("one thread, %s: ms generated, oneDNN; ratio\n",
              std::string(Name(isa)).c_str());
  for (const Case& c : Cases()) {
    Bound generated(c.graph, CpuKernels::kGenerated, &pool);
    Bound vendor(c.graph, CpuKernels::kVendor, &pool);
    if (vendor.program().result.dims.empty()) continue;
    const auto seconds =
        InTurns(rounds, {std::ref(generated), std::ref(vendor)});
    const ShapeClass shape =
        ClassOf(vendor.program(), vendor.program().packed_bytes > 0);
    const double roofline = RooflineSeconds(vendor.program(), isa);
    const int number = static_cast<int>(shape);
    for (int f = 0; f < 2; ++f) {
      logs[f][number] += std::log(roofline / seconds[f]);
    }
    ++counts[number];
    std::printf("%-44s %-13s %8.4f %8.4f %6.2f\n", c.name.c_str(),
                std::string(Name(shape)).c_str(), seconds[0] * 1e3,
                seconds[1] * 1e3, seconds[0] / seconds[1]);
    std::fflush(stdout);
  }
  for (int i = 0; i < kShapeClasses; ++i) {
    if (counts[i] == 0) continue;
    std::printf("ENCORE_EFFICIENCY(%s, %s, %.2f, %.2f)\n",
                isa == Isa::kAvx2 ? "kAvx2" : "kAvx512",
                std::string(Name(static_cast<ShapeClass>(i))).c_str(),
                std::exp(logs[0][i] / counts[i]),
                std::exp(logs[1][i] / counts[i]));
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
    Bound pool_one(c.graph, CpuKernels::kVendor, &one);
    Bound pool_two(c.graph, CpuKernels::kVendor, &two);
    const VendorProgram& program = pool_one.program();
    if (program.result.dims.empty()) continue;
    OwnThreads own_one(program, 1), own_two(program, 2);
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
