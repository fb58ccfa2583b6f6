#include "encore/backends/cpu/kernel_check.h"

#include <cstdint>
#include <span>
#include <utility>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/kernel_binary.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/testing/random_data.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

int64_t Count(const Operand& operand) {
  int64_t count = 1;
  for (const Dim& dim : operand.dims) count *= dim.constant();
  return count;
}

// The literal's bytes, and some that kernels may read but not use.
Bytes Padded(const Literal& literal) {
  Bytes bytes(literal.bytes().begin(), literal.bytes().end());
  bytes.resize(bytes.size() + 64);
  return bytes;
}

Literal Unpadded(const Operand& operand, const Bytes& bytes) {
  const auto literal =
      Literal::Copy(operand.dtype, Shape(operand.dims).ConstantDims(),
                    std::span(bytes).first(bytes.size() - 64));
  ENCORE_CHECK_OK(literal.status());
  return *literal;
}

void Launch(runtime::Device& device, const CompiledModule& module,
            const KernelCode& code, const LaunchShape& shape,
            std::vector<void*> buffers, int threads) {
  runtime::ThreadPool pool(threads);
  const auto loaded = LoadKernel(device, module, code, shape, &pool);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::vector<int64_t> sizes(buffers.size());
  runtime::LaunchContext context;
  context.buffers = buffers.data();
  context.sizes = sizes.data();
  context.threads = &pool;
  ASSERT_TRUE((*loaded)->Launch(context).ok());
}

// A graph's region on data.
struct Problem {
  BuiltRegion built;
  KernelRequest request;
  std::vector<Bytes> inputs;
  std::vector<Bounds> bounds;  // of the region's outputs
};

void MakeProblem(const Graph& graph, const std::vector<Literal>& arguments,
                 Problem* problem) {
  problem->built = BuildWhole(graph);
  const BuiltRegion& built = problem->built;
  problem->request.region = &built.region;
  for (const ValueId input : built.inputs) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (graph.arguments()[i].value != input) continue;
      problem->request.weights.push_back(graph.arguments()[i].is_parameter);
      problem->inputs.push_back(Padded(arguments[i]));
    }
  }
  ASSERT_EQ(problem->inputs.size(), built.inputs.size());
  const auto bounds = EvaluateBounds(graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  for (const ValueId output : built.outputs) {
    for (size_t i = 0; i < bounds->size(); ++i) {
      if (graph.outputs()[i].value != output) continue;
      problem->bounds.push_back((*bounds)[i]);
    }
  }
  ASSERT_EQ(problem->bounds.size(), built.outputs.size());
}

void ExpectWithin(const Region& region, const std::vector<Bytes>& outputs,
                  const std::vector<Bounds>& bounds) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto difference =
        Difference(Unpadded(region.outputs[i], outputs[i]), bounds[i]);
    ASSERT_FALSE(difference.has_value()) << *difference;
  }
}

// As RunCandidate; what the kernel needs beside the region's tensors goes to
// `memory_bytes`.
std::vector<Bytes> Run(const Region& region, const CompileRequest& request,
                       std::vector<Bytes> inputs, int threads,
                       int64_t* memory_bytes) {
  std::vector<Bytes> outputs;
  for (const Operand& output : region.outputs) {
    outputs.emplace_back(Count(output) * BitWidth(output.dtype) / 8 + 64);
  }
  const auto module =
      CpuBackend()->Compile({&request, 1}, GeneratedOnly(), nullptr);
  EXPECT_TRUE(module.ok()) << module.status() << ToText(region);
  if (!module.ok()) return outputs;
  const auto device = CpuBackend()->NewDevice(0);
  const CompiledKernel& kernel = module->kernels[0];
  *memory_bytes = kernel.scratch.constant();
  for (const PackedInput& packed : kernel.packed) {
    *memory_bytes += packed.bytes;
    Bytes panel(packed.bytes + 64);
    Launch(**device, *module, packed.code, kShapeOfPacking,
           {inputs[packed.input].data(), panel.data()}, 1);
    inputs[packed.input] = std::move(panel);
  }
  Bytes scratch(kernel.scratch.constant() + 64);
  std::vector<void*> buffers;
  for (Bytes& input : inputs) buffers.push_back(input.data());
  for (Bytes& output : outputs) buffers.push_back(output.data());
  buffers.push_back(scratch.data());
  Launch(**device, *module, kernel.code, ShapeOfLaunch(region, kernel), buffers,
         threads);
  return outputs;
}

}  // namespace

CompileOptions GeneratedOnly() {
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kGenerated;
  return options;
}

std::vector<Bytes> RunCandidate(const Region& region,
                                const CompileRequest& request,
                                std::vector<Bytes> inputs, int threads) {
  int64_t memory_bytes = 0;
  return Run(region, request, std::move(inputs), threads, &memory_bytes);
}

void CheckKernels(const std::string& text, std::vector<Literal> arguments) {
  SCOPED_TRACE(text);
  StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (size_t i = arguments.size(); i < graph->arguments().size(); ++i) {
    const TensorType& type = graph->type(graph->arguments()[i].value);
    arguments.push_back(RandomData(type, static_cast<uint32_t>(17 + i)));
  }
  Problem problem;
  MakeProblem(*graph, arguments, &problem);
  if (testing::Test::HasFatalFailure()) return;
  const auto& [built, request, inputs, bounds] = problem;
  SCOPED_TRACE(ToText(built.region));
  const auto candidates = CpuBackend()->Candidates(request, GeneratedOnly());
  ASSERT_FALSE(candidates.empty());
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(candidate.kernel);
    int64_t memory_bytes = 0;
    const auto got =
        Run(built.region, {request, candidate}, inputs, 1, &memory_bytes);
    EXPECT_EQ(candidate.memory_bytes, memory_bytes);
    EXPECT_TRUE(got ==
                RunCandidate(built.region, {request, candidate}, inputs, 2))
        << "not the same bits on two threads";
    ExpectWithin(built.region, got, bounds);
  }
}

}  // namespace encore::backends::cpu
