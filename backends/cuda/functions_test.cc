// How far the functions of generated kernels are from the exact ones, over all
// exponents of f32, as the PTX interpreter computes them: with the instructions
// that are approximate off by their documented error.
#include "encore/ir/ops/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/interval_ops.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/testing/batched_backend.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

constexpr int64_t kValues = 8192;

struct Function {
  std::string name;
  std::function<double(double)> exact;
};

std::vector<Function> Functions() {
  std::vector<Function> functions = {
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  for (const OpInfo& info : AllOps()) {
    const FunctionInfo* const function = FindFunction(info.op);
    if (function == nullptr || function->unary == nullptr) continue;
    functions.push_back({std::string(info.mnemonic), function->unary});
  }
  return functions;
}

// Of both signs and every exponent, half of them from [-16, 16].
Literal Values() {
  std::mt19937 random(7);
  Literal values(DType::kF32, {kValues});
  for (int64_t i = 0; i < kValues; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float value = std::bit_cast<float>(bits);
    if (i % 2 == 0 || !std::isfinite(value)) {
      value = static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-27f;
    }
    values.SetDouble(i, value);
  }
  return values;
}

// |found - exact| in units in the last place of f32 at the exact value.
double Units(double found, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isinf(nearest)) {
    const bool same = std::isnan(exact) ? std::isnan(found)
                                        : found == static_cast<double>(nearest);
    // The last finite value is a unit from the first one beyond.
    if (same || std::fabs(found) == std::numeric_limits<float>::max()) return 0;
    return std::numeric_limits<double>::infinity();
  }
  const int exponent =
      nearest == 0 ? -126 : std::max(std::ilogb(nearest), -126);
  return std::fabs(found - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(Functions, AreWithinTheirUnits) {
  BatchedBackend cuda;
  const Backend* const backends[] = {&cuda};
  CompileOptions options;
  options.target = "cuda";
  const std::vector<Function> functions = Functions();
  std::vector<Graph> graphs;
  std::vector<runtime::CompiledGraph> compiled;
  for (const Function& function : functions) {
    auto graph = ParseGraph(StrCat("graph g(%x: f32[", kValues, "]) -> f32[",
                                   kValues, "] {\n  %y = ", function.name,
                                   "(%x)\n  return %y\n}"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto one = Compile(*graph, options, backends);
    ASSERT_TRUE(one.ok()) << one.status();
    graphs.push_back(*std::move(graph));
    compiled.push_back(*std::move(one));
  }
  const Status status = cuda.CompileKernels();
  ASSERT_TRUE(status.ok()) << status;
  const Literal values = Values();
  for (size_t f = 0; f < functions.size(); ++f) {
    const auto found = Replay(graphs[f], compiled[f], backends, {{values}});
    ASSERT_TRUE(found.ok()) << functions[f].name << ": " << found.status();
    double most = 0, at = 0;
    for (int64_t i = 0; i < kValues; ++i) {
      const double x = values.AsDouble(i);
      const double units =
          Units((*found)[0].AsDouble(i), functions[f].exact(x));
      if (units > most) {
        most = units;
        at = x;
      }
    }
    std::cout << functions[f].name << " " << most << "\n";
    EXPECT_LE(most, kFunctionUnits) << functions[f].name << " of " << at;
  }
}

}  // namespace
}  // namespace encore::backends::cuda
