// The operators of the domain com.microsoft: imported, compiled for the cpu
// backend and run, against what ONNX Runtime gives.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/onnx/microsoft/operator_case.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

constexpr char kFolder[] = "tests/onnx/microsoft/cases";
constexpr char kDomain[] = "com.microsoft";

std::vector<std::string> Operators() {
  std::vector<std::string> operators;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    operators.push_back(entry.path().stem().string());
  }
  std::ranges::sort(operators);
  return operators;
}

// Integers are steps of a quantized tensor: as many apart as the tolerance
// says, and a tenth of them at most.
void ExpectSteps(const Literal& actual, const Literal& expected,
                 const Tolerance& tolerance) {
  ASSERT_EQ(actual.type(), expected.type());
  int64_t apart = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const int64_t steps = std::abs(actual.AsInt(i) - expected.AsInt(i));
    EXPECT_LE(static_cast<double>(steps), tolerance.absolute) << i;
    apart += steps != 0;
  }
  EXPECT_LE(apart, expected.element_count() / 10);
}

class MicrosoftOperator : public testing::TestWithParam<std::string> {
 protected:
  MicrosoftOperator() : session_(Options(), &threads_) {}

  static cache::SessionOptions Options() {
    backends::CompileOptions options;
    options.target = "cpu";
    options.threads = 1;
    return cache::StandardSessionOptions(options, "");
  }

  void Expect(const OperatorCase& operator_case, const std::string& domain,
              bool symbolic) {
    SCOPED_TRACE(StrCat(operator_case.title, symbolic ? ", symbolic" : ""));
    const auto graph = ImportCase(operator_case, domain, GetParam(), symbolic);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto results = session_.Run(*graph, operator_case.arguments());
    ASSERT_TRUE(results.ok()) << results.status();
    size_t next = 0;
    for (const auto& output : operator_case.outputs) {
      if (!output) continue;
      const Literal& actual = (*results)[next++];
      if (IsFloat(output->dtype())) {
        const LiteralDifference difference =
            CompareLiterals(actual, *output, operator_case.tolerance);
        EXPECT_TRUE(difference.ok) << difference.text;
      } else {
        ExpectSteps(actual, *output, operator_case.tolerance);
      }
    }
  }

  runtime::ThreadPool threads_{1};
  cache::Session session_;
};

TEST_P(MicrosoftOperator, GivesWhatOnnxRuntimeGives) {
  const auto cases =
      ReadOperatorCases(StrCat(kFolder, "/", GetParam(), ".txt"));
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_GE(cases->size(), 6u);
  // ONNX Runtime writes this one in the default domain.
  const bool standard = GetParam() == "SimplifiedLayerNormalization";
  for (size_t i = 0; i < cases->size(); ++i) {
    SCOPED_TRACE(StrCat("case ", i));
    const OperatorCase& one = (*cases)[i];
    Expect(one, kDomain, /*symbolic=*/false);
    if (standard) Expect(one, "", /*symbolic=*/false);
    if (one.is_symbolic()) Expect(one, kDomain, /*symbolic=*/true);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, MicrosoftOperator,
                         testing::ValuesIn(Operators()),
                         [](const auto& info) { return info.param; });

TEST(Microsoft, EveryOperatorHasCases) {
  const std::vector<std::string> operators = Operators();
  for (const std::string_view name : onnx::ConvertedOps()) {
    if (!name.starts_with("com.microsoft.")) continue;
    const std::string op_type(name.substr(sizeof("com.microsoft.") - 1));
    EXPECT_THAT(operators, testing::Contains(op_type));
  }
}

TEST(Microsoft, RefusesOthersByName) {
  OperatorCase one;
  one.outputs = {Literal(DType::kF32, {})};
  const auto graph = ImportCase(one, kDomain, "BeamSearch", /*symbolic=*/false);
  EXPECT_EQ(graph.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(Message(graph.status()),
              testing::HasSubstr("the operator BeamSearch of the domain "
                                 "com.microsoft is not supported"));
}

}  // namespace
}  // namespace encore::tests
