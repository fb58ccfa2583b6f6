#include "encore/backends/conformance/layout_suite.h"

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/kernel_run.h"
#include "encore/backends/region/packed_literal.h"
#include "encore/backends/region/relayout.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/transform/decompose.h"

namespace encore::backends {
namespace {

constexpr int kChannels[] = {3, 17, 24};
// Layouts drawn for each graph.
constexpr uint64_t kDraws = 2;

struct Graphs {
  std::string_view name, text;
};

constexpr Graphs kGraphs[] = {
    {"unary", R"(graph g(%x: f32[2,C,3,5]) -> f32[2,C,3,5] {
  %y = exp(%x)
  return %y
})"},
    {"binary", R"(graph g(%x: f32[2,C,3], %z: f32[2,C,3]) -> f32[2,C,3] {
  %s = mul(%x, %z)
  %y = add(%s, %x)
  return %y
})"},
    {"bias", R"(graph g(%x: f32[2,C,3,5], %b: f32[C]) -> f32[2,C,3,5] {
  %c = broadcast(%b) {shape = [2,C,3,5], axes = [1]}
  %y = add(%x, %c)
  return %y
})"},
    {"cast", R"(graph g(%x: f32[C,C]) -> i8[C,C] {
  %y = cast(%x) {dtype = i8}
  return %y
})"},
    {"half", R"(graph g(%x: f16[2,C,7]) -> f16[2,C,7] {
  %y = neg(%x)
  return %y
})"},
    {"doubles", R"(graph g(%x: f64[3,C], %z: f64[3,C]) -> f64[3,C] {
  %y = max(%x, %z)
  return %y
})"},
    {"transpose", R"(graph g(%x: f32[2,C,3,5]) -> f32[2,3,5,C] {
  %y = transpose(%x) {permutation = [0,2,3,1]}
  return %y
})"},
    {"slice", R"(graph g(%x: f32[C,C]) -> f32[C,2] {
  %y = slice(%x) {starts = [0,1], limits = [C,3], strides = [1,1]}
  return %y
})"},
    {"pad", R"(graph g(%x: f32[5,C], %v: f32[]) -> f32[8,C] {
  %y = pad(%x, %v) {low = [1,0], high = [-2,0], interior = [1,0]}
  return %y
})"},
    {"reverse", R"(graph g(%x: f32[4,C]) -> f32[4,C] {
  %y = reverse(%x) {axes = [1]}
  return %y
})"},
    {"concat", R"(graph g(%x: f32[C,3], %z: f32[C,C]) -> f32[C,Q] {
  %y = concat(%x, %z) {axis = 1}
  return %y
})"},
    {"gather", R"(graph g(%x: f32[2,C,5], %i: i64[4]) -> f32[2,4,5] {
  %y = gather(%x, %i) {offset_dims = [0,2], collapsed_slice_dims = [1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1], index_vector_dim = 1, slice_sizes = [2,1,5]}
  return %y
})"},
    {"sum", R"(graph g(%x: f32[2,C,5]) -> f32[2,5] {
  %y = reduce(%x) {combiner = sum, axes = [1]}
  return %y
})"},
    {"rows", R"(graph g(%x: f32[C,C]) -> f32[C] {
  %y = reduce(%x) {combiner = product, axes = [1]}
  return %y
})"},
    {"smallest", R"(graph g(%x: i32[C,9]) -> i32[C] {
  %y = reduce(%x) {combiner = min, axes = [1]}
  return %y
})"},
    {"position", R"(graph g(%x: f32[4,C]) -> i64[4] {
  %y = arg_reduce(%x) {combiner = max, axis = 1, last = false, dtype = i64}
  return %y
})"},
    {"scan", R"(graph g(%x: f32[3,C]) -> f32[3,C] {
  %y = cumulative(%x) {combiner = sum, axis = 1, exclusive = false, reverse = true}
  return %y
})"},
    {"softmax", R"(graph g(%x: f32[3,C]) -> f32[3,C] {
  %m = reduce(%x) {combiner = max, axes = [1]}
  %mb = broadcast(%m) {shape = [3,C], axes = [0]}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {combiner = sum, axes = [1]}
  %sb = broadcast(%s) {shape = [3,C], axes = [0]}
  %y = div(%e, %sb)
  return %y
})"},
    {"product", R"(graph g(%x: f32[C,19], %w: param f32[19,C]) -> f32[C,C] {
  %y = dot_general(%x, %w) {contract = [1]x[0]}
  return %y
})"},
    {"convolution",
     R"(graph g(%x: f32[1,C,6,7], %w: param f32[C,C,3,3]) -> f32[1,C,6,7] {
  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = 1}
  return %y
})"},
};

std::vector<Layout> RandomLayouts(const std::vector<Operand>& operands,
                                  std::mt19937_64& random) {
  std::vector<Layout> layouts;
  for (const Operand& operand : operands) {
    layouts.push_back(RandomLayout(MemoryExtents(operand, {}), random));
  }
  return layouts;
}

// A graph's region on data.
struct Problem {
  Region region;
  std::vector<bool> weights;
  std::vector<Literal> inputs;
  std::vector<Bounds> bounds;  // of the region's outputs
};

void MakeProblem(const Graph& graph, uint64_t seed, Problem* problem) {
  const StatusOr<Graph> primitives = DecomposeAll(graph);
  ASSERT_TRUE(primitives.ok()) << primitives.status();
  const BuiltRegion built = BuildWhole(*primitives);
  problem->region = built.region;
  const std::vector<Literal> arguments = RandomArguments(graph, seed);
  const auto bounds = EvaluateBounds(graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  for (const ValueId input : built.inputs) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Graph::Argument& argument = primitives->arguments()[i];
      if (argument.value != input) continue;
      problem->weights.push_back(argument.is_parameter);
      problem->inputs.push_back(arguments[i]);
    }
  }
  ASSERT_EQ(problem->inputs.size(), built.inputs.size());
  ASSERT_EQ(built.outputs.size(), 1);
  problem->bounds = *bounds;
}

// Every candidate in those layouts, on memory of its own and in place.
void CheckLayouts(const Backend& backend, const Problem& problem,
                  const Region& region) {
  SCOPED_TRACE(ToText(region));
  std::vector<Literal> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    inputs.push_back(Pack(problem.inputs[i], region.inputs[i].layout));
  }
  const KernelRequest request{&region, problem.weights, {}};
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kGenerated;
  const auto candidates = backend.Candidates(request, options);
  ASSERT_FALSE(candidates.empty());
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(candidate.kernel);
    const Operand &input = region.inputs[0], &output = region.outputs[0];
    const bool alike =
        input.dims == output.dims && input.layout == output.layout;
    for (const bool in_place : {false, true}) {
      if (in_place && !alike) continue;
      const auto results =
          RunKernel(backend, {request, candidate}, inputs, {}, in_place);
      ASSERT_TRUE(results.ok()) << results.status();
      for (size_t i = 0; i < results->size(); ++i) {
        const std::vector<int64_t>& dims = problem.bounds[i].expected.dims();
        const Layout& layout = region.outputs[i].layout;
        const std::optional<std::string> difference =
            Difference(Unpack((*results)[i], dims, layout), problem.bounds[i]);
        EXPECT_FALSE(difference.has_value()) << *difference;
        EXPECT_EQ(CountStray((*results)[i], dims, layout), 0);
      }
    }
  }
}

std::string WithChannels(std::string_view text, int channels) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    // A dim, not a letter of a name.
    const bool is_dim = i > 0 && (text[i - 1] == '[' || text[i - 1] == ',');
    if (is_dim && text[i] == 'C') {
      StrAppend(&result, channels);
    } else if (is_dim && text[i] == 'Q') {
      StrAppend(&result, channels + 3);
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::string LayoutName(const ::testing::TestParamInfo<LayoutCase>& info) {
  return StrCat(info.param.name, info.param.channels);
}

::testing::internal::ParamGenerator<LayoutCase> LayoutsOf(
    std::string_view backend) {
  std::vector<LayoutCase> cases;
  for (const auto& [name, text] : kGraphs) {
    for (const int channels : kChannels) {
      cases.push_back({backend, name, text, channels});
    }
  }
  return ::testing::ValuesIn(cases);
}

TEST_P(LayoutTest, AgreesWithThePlainResult) {
  const LayoutCase& c = GetParam();
  const StatusOr<const Backend*> backend = FindBackend(c.backend);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const StatusOr<Graph> graph = ParseGraph(WithChannels(c.text, c.channels));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    Problem problem;
    MakeProblem(*graph, seed, &problem);
    if (HasFatalFailure()) return;
    std::mt19937_64 random(c.channels * 1000 + c.text.size() * kDraws + seed);
    const std::vector<Layout> inputs =
        RandomLayouts(problem.region.inputs, random);
    std::vector<Layout> outputs = RandomLayouts(problem.region.outputs, random);
    // Every other time such as allows a kernel to work in place.
    if (seed % 2 == 1 &&
        problem.region.inputs[0].dims == problem.region.outputs[0].dims) {
      outputs[0] = inputs[0];
    }
    const StatusOr<Region> region =
        WithLayouts(problem.region, inputs, outputs);
    ASSERT_TRUE(region.ok()) << region.status();
    CheckLayouts(**backend, problem, *region);
    if (HasFailure()) return;
  }
}

}  // namespace encore::backends
