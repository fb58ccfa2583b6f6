#include "encore/backends/cpu/winograd/testing/convolution_kernels.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/kernel_run.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/winograd/transform.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/types/shape.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {

int OutputsOf(std::string_view kernel) {
  const auto name = WinogradName::Parse(kernel);
  return name ? name->outputs : 0;
}

Problem::Problem(const std::string& text, uint64_t seed)
    : graph(ParsedGraph(text)), built(BuildWhole(graph)) {
  std::mt19937_64 random(seed);
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    Literal& literal =
        arguments.emplace_back(type.dtype, type.shape.ConstantDims());
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      literal.SetDouble(i, static_cast<double>(random() >> 40) * 0x1p-23 - 1);
    }
  }
  request.region = &built.region;
  for (const ValueId input : built.inputs) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (graph.arguments()[i].value != input) continue;
      request.weights.push_back(graph.arguments()[i].is_parameter);
      inputs.push_back(arguments[i]);
    }
  }
}

std::vector<Candidate> CandidatesFor(const std::string& text,
                                     Rewrites rewrites) {
  const Problem problem(text);
  CompileOptions options;
  options.rewrites = rewrites;
  options.cpu_kernels = CpuKernels::kGenerated;
  options.threads = 2;
  options.machine = StrCat("zen4-", Name(HostCpu().isa));
  return CpuBackend()->Candidates(problem.request, options);
}

int WinogradCandidates(const std::string& text, Rewrites rewrites) {
  const std::vector<Candidate> candidates = CandidatesFor(text, rewrites);
  return static_cast<int>(
      std::ranges::count_if(candidates, [](const Candidate& candidate) {
        return OutputsOf(candidate.kernel) > 0;
      }));
}

Literal Launch(const Problem& problem, std::string_view kernel) {
  const CompileRequest request{
      problem.request,
      {.kernel = std::string(kernel), .inputs = {}, .outputs = {}}};
  auto results = RunKernel(*CpuBackend(), request, problem.inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0] : Literal();
}

FastConvolution LossOf(int outputs) {
  const WinogradTransform transform = WindowOfThree(outputs);
  return {GrowthOf(transform, transform), RoundingsOf(transform, transform)};
}

FastConvolution LossInOneDim(int outputs) {
  const WinogradTransform three = WindowOfThree(outputs), one = WindowOfOne();
  return {GrowthOf(three, one), RoundingsOf(three, one)};
}

void ExpectWithinBounds(const std::string& text, uint64_t seed,
                        FastConvolution loss_of(int)) {
  SCOPED_TRACE(text);
  const Problem problem(text, seed);
  for (const std::string& kernel : kWinogradKernels) {
    SCOPED_TRACE(kernel);
    const auto bounds = EvaluateBounds(problem.graph, problem.arguments,
                                       loss_of(OutputsOf(kernel)));
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    const auto difference = Difference(Launch(problem, kernel), (*bounds)[0]);
    EXPECT_FALSE(difference.has_value()) << *difference;
  }
}

Errors ErrorsOf(const Literal& actual, const std::vector<double>& exact) {
  Errors errors;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error =
        std::abs(actual.AsDouble(static_cast<int64_t>(i)) - exact[i]);
    errors.rms += error * error;
    errors.largest = std::max(errors.largest, error);
  }
  errors.rms = std::sqrt(errors.rms / static_cast<double>(exact.size()));
  return errors;
}

void Rectify(Literal* literal) {
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    literal->SetDouble(i, std::max(0.0, literal->AsDouble(i)));
  }
}

}  // namespace encore::backends::cpu
