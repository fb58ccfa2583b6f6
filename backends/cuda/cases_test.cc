// The cases of the conformance suite on kernels for CUDA: those of every op in
// every dtype, compiled a few hundred at a time and run on the PTX interpreter.
#include "encore/backends/conformance/cases.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/testing/batched_backend.h"
#include "encore/ir/text/printer.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

struct Compiled {
  Case c;
  runtime::CompiledGraph graph;
  std::string name;
};

class CasesTest : public ::testing::TestWithParam<Op> {};

TEST_P(CasesTest, AreWithinTheirBounds) {
  const Op op = GetParam();
  BatchedBackend cuda;
  const Backend* const backends[] = {&cuda};
  CompileOptions options;
  options.target = "cuda";
  const auto computes = [&](DType) { return true; };
  std::vector<Compiled> all;
  for (const DType dtype : Info(op).dtypes) {
    if (!NeedsCases(op, dtype)) continue;
    StatusOr<Cases> found = CasesOf(op, dtype, computes);
    ASSERT_TRUE(found.ok()) << dtype << ": " << found.status();
    for (Case& c : found->cases) {
      StatusOr<runtime::CompiledGraph> graph =
          Compile(c.graph, options, backends);
      ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << Print(c.graph);
      all.push_back(
          {std::move(c), *std::move(graph), std::string(Name(dtype))});
    }
  }
  const Status compiled = cuda.CompileKernels();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (const Compiled& one : all) {
    const StatusOr<std::vector<Literal>> actual =
        Replay(one.c.graph, one.graph, backends, one.c.arguments);
    if (!actual.ok()) {
      ADD_FAILURE() << one.name << ": " << actual.status() << "\n"
                    << Print(one.c.graph);
      continue;
    }
    const std::optional<std::string> difference =
        Difference(*actual, one.c.bounds);
    EXPECT_FALSE(difference.has_value())
        << one.name << ": " << *difference << "\n"
        << Print(one.c.graph);
  }
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
