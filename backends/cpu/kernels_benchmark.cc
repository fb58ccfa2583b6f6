// Generated kernels beside oneDNN's, single-threaded, in one run: GFLOP/s of
// each shape for the cheapest candidate ("generated") and for a oneDNN
// primitive with weights in the layout it asks for ("onednn").
//
//   OMP_NUM_THREADS=1 bazel run //backends/cpu:kernels_benchmark
#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "benchmark/benchmark.h"
#include "dnnl.hpp"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/kernel_binary.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {
namespace {

struct ConvShape {
  int64_t c, o, size, window, stride, groups;
  int64_t padding() const { return window / 2; }
  int64_t out() const { return (size + 2 * padding() - window) / stride + 1; }
  double flops() const {
    return 2.0 * o * (c / groups) * window * window * out() * out();
  }
};

std::string ConvText(const ConvShape& s) {
  return StrCat(
      "graph g(%x: f32[1,", s.c, ",", s.size, ",", s.size, "], %w: param f32[",
      s.o, ",", s.c / s.groups, ",", s.window, ",", s.window, "]) -> f32[1,",
      s.o, ",", s.out(), ",", s.out(),
      "] {\n  %y = convolution(%x, %w) {strides = [", s.stride, ",", s.stride,
      "], padding_low = [", s.padding(), ",", s.padding(),
      "], padding_high = [", s.padding(), ",", s.padding(),
      "], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = ",
      s.groups, "}\n  return %y\n}");
}

std::string DotText(int64_t m, int64_t k, int64_t n) {
  return StrCat("graph g(%x: f32[", m, ",", k, "], %w: param f32[", k, ",", n,
                "]) -> f32[", m, ",", n,
                "] {\n  %y = dot_general(%x, %w) {contract = [1]x[0]}\n  "
                "return %y\n}");
}

int64_t Bytes(const Operand& operand) {
  int64_t bytes = BitWidth(operand.dtype) / 8;
  for (const Dim& dim : operand.dims) bytes *= dim.constant();
  return bytes;
}

// Without the library.
CompileOptions Ours() {
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kGenerated;
  return options;
}

// The cheapest candidate of a graph that is one region, ready to launch.
void RunGenerated(benchmark::State& state, const std::string& text,
                  double flops, int threads) {
  const StatusOr<Graph> graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  std::vector<NodeId> nodes;
  for (const NodeId node : Nodes(*graph)) {
    if (HasRegion(*graph, node)) nodes.push_back(node);
  }
  const auto built =
      BuildRegion(*graph, nodes, std::vector{graph->outputs()[0].value});
  KernelRequest request{&built->region, {}, {}};
  for (const ValueId value : built->inputs) {
    for (const Graph::Argument& argument : graph->arguments()) {
      if (argument.value == value) {
        request.weights.push_back(argument.is_parameter);
      }
    }
  }
  const auto candidates = CpuBackend()->Candidates(request, Ours());
  const CompileRequest compile{request, candidates[0]};
  const auto module = CpuBackend()->Compile({&compile, 1}, Ours(), nullptr);
  ENCORE_CHECK_OK(module.status());
  const CompiledKernel& kernel = module->kernels[0];
  std::vector<std::vector<float>> memory;
  std::vector<void*> buffers;
  const auto add = [&](int64_t bytes) {
    memory.emplace_back(bytes / 4 + 32, 0.5f);
    const auto at = reinterpret_cast<uintptr_t>(memory.back().data());
    buffers.push_back(reinterpret_cast<void*>((at + 63) / 64 * 64));
  };
  for (uint32_t i = 0; i < built->region.inputs.size(); ++i) {
    int64_t bytes = Bytes(built->region.inputs[i]);
    for (const PackedInput& packed : kernel.packed) {
      if (packed.input == i) bytes = packed.bytes;
    }
    add(bytes);
  }
  add(Bytes(built->region.outputs[0]));
  add(kernel.scratch.constant());
  const auto device = CpuBackend()->NewDevice(0);
  runtime::ThreadPool pool(threads);
  const auto loaded = LoadKernel(**device, *module, kernel.code,
                                 ShapeOfLaunch(built->region, kernel), &pool);
  ENCORE_CHECK_OK(loaded.status());
  const std::vector<int64_t> sizes(buffers.size());
  runtime::LaunchContext context;
  context.buffers = buffers.data();
  context.sizes = sizes.data();
  context.threads = &pool;
  for (auto _ : state) {
    ENCORE_CHECK_OK((*loaded)->Launch(context));
  }
  state.SetLabel(StrCat(candidates[0].kernel, " estimate ",
                        flops / candidates[0].seconds * 1e-9));
  state.counters["GFLOP/s"] = benchmark::Counter(
      flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

using dnnl::memory;

void Execute(benchmark::State& state, const dnnl::primitive& primitive,
             const dnnl::engine& engine, const memory::desc& source,
             const memory::desc& weights, const memory::desc& result,
             double flops) {
  dnnl::stream stream(engine);
  memory x(source, engine), w(weights, engine), y(result, engine);
  // Memory that nobody has written is one page of zeros.
  for (const memory* m : {&x, &w, &y}) {
    std::memset(m->get_data_handle(), 0, m->get_desc().get_size());
  }
  // Untouched memory would be one page of zeros, always in the cache.
  for (const memory& m : {x, w, y}) {
    auto* data = static_cast<float*>(m.get_data_handle());
    std::fill(data, data + m.get_desc().get_size() / sizeof(float), 0.5f);
  }
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
  for (auto _ : state) {
    primitive.execute(stream, arguments);
    stream.wait();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void DotOneDnn(benchmark::State& state, int64_t m, int64_t k, int64_t n) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto f32 = memory::data_type::f32;
  const memory::desc x({m, k}, f32, memory::format_tag::ab);
  const memory::desc w({k, n}, f32, memory::format_tag::any);
  const memory::desc y({m, n}, f32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description(engine, x, w, y);
  Execute(state, dnnl::matmul(description), engine, x,
          description.weights_desc(), y, 2.0 * m * k * n);
}

void ConvOneDnn(benchmark::State& state, const ConvShape& s) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto f32 = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  const memory::dims weights =
      s.groups == 1 ? memory::dims{s.o, s.c, s.window, s.window}
                    : memory::dims{s.groups, s.o / s.groups, s.c / s.groups,
                                   s.window, s.window};
  const dnnl::convolution_forward::primitive_desc description(
      engine, dnnl::prop_kind::forward_inference,
      dnnl::algorithm::convolution_direct,
      memory::desc({1, s.c, s.size, s.size}, f32, any),
      memory::desc(weights, f32, any),
      memory::desc({1, s.o, s.out(), s.out()}, f32, any), {s.stride, s.stride},
      {s.padding(), s.padding()}, {s.padding(), s.padding()});
  Execute(state, dnnl::convolution_forward(description), engine,
          description.src_desc(), description.weights_desc(),
          description.dst_desc(), s.flops());
}

void RegisterAll() {
  for (const auto& [m, k, n] :
       {std::tuple<int64_t, int64_t, int64_t>{1024, 1024, 1024},
        {128, 768, 768},
        {128, 3072, 768},
        {1, 4096, 4096},
        {32, 64, 32}}) {
    const std::string name = StrCat("matmul/", m, "x", k, "x", n);
    const auto [mm, kk, nn] = std::tuple{m, k, n};
    benchmark::RegisterBenchmark(
        StrCat(name, "/generated").c_str(), [=](benchmark::State& state) {
          RunGenerated(state, DotText(mm, kk, nn), 2.0 * mm * kk * nn, 1);
        });
    benchmark::RegisterBenchmark(
        StrCat(name, "/onednn").c_str(),
        [=](benchmark::State& state) { DotOneDnn(state, mm, kk, nn); });
  }
  for (const ConvShape& s : {ConvShape{64, 64, 56, 3, 1, 1},
                             {512, 512, 7, 3, 1, 1},
                             {256, 64, 56, 1, 1, 1},
                             {96, 96, 56, 3, 1, 96},
                             {96, 96, 57, 5, 2, 96},
                             {3, 16, 224, 3, 2, 1}}) {
    const std::string name = StrCat("conv/", s.c, "-", s.o, "/", s.size, "/",
                                    s.window, "s", s.stride, "g", s.groups);
    benchmark::RegisterBenchmark(
        StrCat(name, "/generated").c_str(), [=](benchmark::State& state) {
          RunGenerated(state, ConvText(s), s.flops(), 1);
        });
    benchmark::RegisterBenchmark(
        StrCat(name, "/onednn").c_str(),
        [=](benchmark::State& state) { ConvOneDnn(state, s); });
  }
}

const bool kRegistered = (RegisterAll(), true);

}  // namespace
}  // namespace encore::backends::cpu
