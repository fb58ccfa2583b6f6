// The cases of the conformance suite on kernels for CUDA: those of every op in
// every dtype, compiled a few hundred at a time and run on the PTX interpreter.
#include "encore/backends/conformance/cases.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/testing/batched_backend.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

struct Compiled {
  Case c;
  std::string dtype;
  std::vector<runtime::CompiledGraph> graphs;  // by limits
};

// As kernels are made, and so that small regions take every way: a thread, a
// warp or a block for each point, arrays in global memory, a launch for each
// stage.
struct Way {
  std::string_view name;
  PlanLimits limits;
  std::vector<std::string_view> kernels = {kLoops};
};
std::vector<Way> Ways() {
  PlanLimits threads, warps, blocks, scratch, split;
  threads.vector_points = 0;
  threads.few_points = warps.few_points = blocks.few_points = 0;
  threads.warp_work = int64_t{1} << 40;
  threads.local_bytes = 1 << 12;
  warps.warp_work = 0;
  warps.block_work = int64_t{1} << 40;
  blocks.warp_work = blocks.block_work = 0;
  // With several points of a team.
  warps.teams = blocks.teams = 0;
  scratch = blocks;
  scratch.shared_bytes = 0;
  split.few_points = int64_t{1} << 40;
  split.much_work = 0;
  split.warp_work = 4;
  split.block_work = 16;
  split.piece_work = 2;
  return {{"as made", {}, {}},
          {"templates", {}, {kTiles, kAttention, kAtomicLoops, kOnlineLoops}},
          {"tensor cores", {}, {kTensorTiles, kTensorAttention}},
          {"threads", threads},
          {"warps", warps},
          {"blocks", blocks},
          {"scratch", scratch},
          {"split", split}};
}

bool SameKernels(const runtime::CompiledGraph& a,
                 const runtime::CompiledGraph& b) {
  return std::ranges::equal(a.kernel_binaries, b.kernel_binaries, {},
                            &runtime::KernelBinary::params,
                            &runtime::KernelBinary::params);
}

// Prints what was compiled in all tests of this process.
class Figures : public ::testing::Environment {
 public:
  static void Add(const BatchedBackend::Figures& ptx,
                  const BatchedBackend::Figures& machine) {
    ptx_.functions += ptx.functions;
    ptx_.seconds += ptx.seconds;
    machine_.functions += machine.functions;
    machine_.seconds += machine.seconds;
    machine_.most_registers =
        std::max(machine_.most_registers, machine.most_registers);
    machine_.most_frame_bytes =
        std::max(machine_.most_frame_bytes, machine.most_frame_bytes);
    machine_.most_shared_bytes =
        std::max(machine_.most_shared_bytes, machine.most_shared_bytes);
  }
  void TearDown() override {
    std::cout << ptx_.functions << " functions to PTX, "
              << 1e3 * ptx_.seconds / static_cast<double>(ptx_.functions)
              << " ms each; " << machine_.functions << " to machine code, "
              << 1e3 * machine_.seconds /
                     static_cast<double>(machine_.functions)
              << " ms each, at most " << machine_.most_registers
              << " registers, " << machine_.most_frame_bytes
              << " bytes of a frame, " << machine_.most_shared_bytes
              << " bytes of shared memory\n";
  }

 private:
  static inline BatchedBackend::Figures ptx_, machine_;
};
const auto* const figures = ::testing::AddGlobalTestEnvironment(new Figures);

class CasesTest : public ::testing::TestWithParam<Op> {};

// The cases of one op, on each way, and machine code of some of them.
class OpCases {
 public:
  explicit OpCases(Op op) : op_(op) { options_.target = "cuda"; }

  void CompileAll() {
    for (const DType dtype : Info(op_).dtypes) {
      if (!NeedsCases(op_, dtype)) continue;
      StatusOr<Cases> found = CasesOf(op_, dtype, [](DType) { return true; });
      ASSERT_TRUE(found.ok()) << dtype << ": " << found.status();
      // Of two dtypes machine code for each architecture.
      const bool checked =
          dtype == Info(op_).dtypes.back() || dtype == DType::kF16;
      for (Case& c : found->cases) {
        all_.emplace_back(std::move(c), std::string(Name(dtype)));
        CompileWays(&all_.back());
        if (checked) NoteMachineCode(all_.back());
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    const Status compiled = cuda_.CompileKernels();
    ASSERT_TRUE(compiled.ok()) << compiled;
    constexpr Architecture kArchitectures[] = {
        {8, 0}, {9, 0, true}, {10, 0, true}};
    const Status checked = machine_.CheckMachineCode(kArchitectures);
    EXPECT_TRUE(checked.ok()) << checked;
    Figures::Add(cuda_.figures(), machine_.figures());
  }

  void RunAll() {
    for (const Compiled& one : all_) {
      for (size_t w = 0; w < ways_.size(); ++w) {
        if (w > 0 && SameKernels(one.graphs[w], one.graphs[0])) continue;
        SCOPED_TRACE(
            StrCat(one.dtype, ", ", ways_[w].name, "\n", Print(one.c.graph)));
        Run(one, one.graphs[w]);
      }
    }
  }

 private:
  void CompileWays(Compiled* one) {
    const Backend* const backends[] = {&cuda_};
    for (const Way& way : ways_) {
      // Groups are chosen in one way only: it takes longer than all else.
      options_.optimizer =
          one->graphs.empty() ? Optimizer::kEGraph : Optimizer::kGreedy;
      cuda_.set_limits(way.limits);
      cuda_.set_preferred(way.kernels);
      StatusOr<runtime::CompiledGraph> graph =
          Compile(one->c.graph, options_, backends);
      ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << Print(one->c.graph);
      one->graphs.push_back(*std::move(graph));
    }
  }

  void NoteMachineCode(const Compiled& one) {
    const Backend* const backends[] = {&machine_};
    const std::vector<std::string_view> choices[] = {
        {kLoops},
        {kTiles, kAttention, kAtomicLoops, kOnlineLoops},
        {kTensorTiles, kTensorAttention}};
    for (const auto& kernels : choices) {
      machine_.set_preferred(kernels);
      const auto graph = Compile(one.c.graph, options_, backends);
      ASSERT_TRUE(graph.ok()) << graph.status();
    }
  }

  void Run(const Compiled& one, const runtime::CompiledGraph& graph) const {
    const Backend* const backends[] = {&cuda_};
    const StatusOr<std::vector<Literal>> actual =
        Replay(one.c.graph, graph, backends, one.c.arguments);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const std::optional<std::string> difference =
        Difference(*actual, one.c.bounds);
    EXPECT_FALSE(difference.has_value()) << *difference;
  }

  const Op op_;
  const std::vector<Way> ways_ = Ways();
  CompileOptions options_;
  BatchedBackend cuda_, machine_;
  std::vector<Compiled> all_;
};

TEST_P(CasesTest, AreWithinTheirBounds) {
  OpCases cases(GetParam());
  cases.CompileAll();
  if (!HasFatalFailure()) cases.RunAll();
}

std::vector<Op> Ops() {
  std::vector<Op> ops;
  for (const OpInfo& info : AllOps()) {
    if (info.op != Op::kCustom) ops.push_back(info.op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(All, CasesTest, ::testing::ValuesIn(Ops()),
                         [](const ::testing::TestParamInfo<Op>& info) {
                           return std::string(Info(info.param).name);
                         });

}  // namespace
}  // namespace encore::backends::cuda
