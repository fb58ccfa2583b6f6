// What the operators of ai.onnx.ml refuse, with the attribute at fault.

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Attributes = std::map<std::string, Proto>;

Proto Floats(std::vector<float> values) {
  Proto attribute;
  for (const float value : values) attribute.Float(7, value);
  return attribute.Int(20, 6);
}

Proto Integers(std::vector<int64_t> values) {
  Proto attribute;
  for (const int64_t value : values) attribute.Int(8, value);
  return attribute.Int(20, 7);
}

Proto Texts(std::vector<std::string_view> values) {
  Proto attribute;
  for (const auto value : values) attribute.Bytes(9, value);
  return attribute.Int(20, 8);
}

Proto Number(int64_t value) { return Proto().Int(3, value).Int(20, 2); }
Proto Text(std::string_view value) {
  return Proto().Bytes(4, value).Int(20, 3);
}

// A vector of doubles, or of bytes.
Proto Tensor(std::vector<double> values, int type = 11) {
  Proto tensor;
  tensor.Int(1, values.size()).Int(2, type);
  std::string bytes;
  for (const double value : values) {
    if (type == 11) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      bytes += static_cast<char>(value);
    }
  }
  return Proto().Sub(5, tensor.Bytes(9, bytes)).Int(20, 4);
}

// A model of one node that reads x and gives y and z.
StatusOr<encore::Graph> ImportNode(std::string_view op,
                                   const Attributes& attributes, int opset,
                                   const Proto& input) {
  Proto node;
  node.Bytes(1, "x").Bytes(2, "y");
  if (op.ends_with("Classifier")) node.Bytes(2, "z");
  node.Bytes(3, "node").Bytes(4, op).Bytes(7, "ai.onnx.ml");
  for (const auto& [name, value] : attributes) {
    Proto attribute;
    attribute.Bytes(1, name);
    node.Bytes(5, attribute.bytes() + value.bytes());
  }
  Proto graph;
  graph.Sub(1, node).Bytes(2, "g").Sub(11, input);
  graph.Sub(12, Proto().Bytes(1, "y"));
  Proto model;
  model.Int(1, 8).Sub(8, Proto().Bytes(1, "ai.onnx.ml").Int(2, opset));
  auto bytes = std::make_shared<const std::string>(model.Sub(7, graph).bytes());
  return Import(std::as_bytes(std::span(*bytes)), bytes, {}, {});
}

// The error of a model; `changed` replaces some of the attributes.
std::string ErrorOf(std::string_view op, Attributes attributes,
                    const Attributes& changed, int opset = 3,
                    const Proto& input = TensorInput("x", {"N", "4"})) {
  for (const auto& [name, value] : changed) attributes[name] = value;
  const auto graph = ImportNode(op, attributes, opset, input);
  return graph.ok() ? "no error" : encore::Message(graph.status());
}

// A node and two leaves.
Attributes Regressor() {
  return {{"nodes_treeids", Integers({0, 0, 0})},
          {"nodes_nodeids", Integers({0, 1, 2})},
          {"nodes_featureids", Integers({3, 0, 0})},
          {"nodes_modes", Texts({"BRANCH_LEQ", "LEAF", "LEAF"})},
          {"nodes_values", Floats({0.5, 0, 0})},
          {"nodes_truenodeids", Integers({1, 0, 0})},
          {"nodes_falsenodeids", Integers({2, 0, 0})},
          {"n_targets", Number(2)},
          {"target_treeids", Integers({0, 0})},
          {"target_nodeids", Integers({1, 2})},
          {"target_ids", Integers({0, 1})},
          {"target_weights", Floats({1, 2})}};
}

struct Wrong {
  Attributes changed;
  std::string_view message;
};

void ExpectErrors(std::string_view op, const Attributes& good,
                  const std::vector<Wrong>& wrong, int opset = 3,
                  const Proto& input = TensorInput("x", {"N", "4"})) {
  EXPECT_EQ(ErrorOf(op, good, {}, opset, input), "no error");
  for (const auto& [changed, message] : wrong) {
    EXPECT_THAT(ErrorOf(op, good, changed, opset, input),
                AllOf(HasSubstr("node"), HasSubstr(message)));
  }
}

TEST(MlErrors, Trees) {
  const std::vector<Wrong> wrong = {
      {{{"nodes_values", Floats({1, 2})}},
       "attribute nodes_values has 2 entries, expected 3"},
      {{{"nodes_treeids", Integers({0, 0})}}, "attribute nodes_treeids has 2"},
      {{{"nodes_modes", Texts({"LEAF"})}}, "attribute nodes_modes has 1"},
      {{{"nodes_hitrates", Floats({1})}}, "attribute nodes_hitrates has 1"},
      {{{"nodes_missing_value_tracks_true", Integers({1})}},
       "attribute nodes_missing_value_tracks_true has 1"},
      {{{"nodes_modes", Texts({"BRANCH_MEMBER", "LEAF", "LEAF"})}},
       "attribute nodes_modes has the entry \"BRANCH_MEMBER\""},
      {{{"nodes_nodeids", Integers({0, 1, 1})}},
       "attribute nodes_nodeids has node 1 of tree 0 twice"},
      {{{"nodes_truenodeids", Integers({9, 0, 0})}},
       "attribute nodes_truenodeids names node 9 of tree 0"},
      {{{"nodes_falsenodeids", Integers({-1, 0, 0})}},
       "attribute nodes_falsenodeids names node -1 of tree 0"},
      {{{"nodes_truenodeids", Integers({0, 0, 0})}}, "node 0 is below itself"},
      {{{"nodes_modes", Texts({"BRANCH_LEQ", "BRANCH_LT", "LEAF"})}},
       "node 0 is below itself"},
      {{{"nodes_featureids", Integers({4, 0, 0})}},
       "attribute nodes_featureids has the entry 4"},
      {{{"nodes_featureids", Integers({-1, 0, 0})}},
       "attribute nodes_featureids has the entry -1"},
      {{{"target_ids", Integers({0, 2})}},
       "attribute target_ids has the entry 2, outside of 2 scores"},
      {{{"target_nodeids", Integers({1, 7})}},
       "attribute target_nodeids names node 7 of tree 0"},
      {{{"target_weights", Floats({1})}}, "attribute target_weights has 1"},
      {{{"n_targets", Number(0)}}, "attribute n_targets is 0"},
      {{{"base_values", Floats({1})}}, "attribute base_values has 1"},
      {{{"aggregate_function", Text("MEDIAN")}},
       "attribute aggregate_function is \"MEDIAN\""},
      {{{"post_transform", Text("TANH")}},
       "attribute post_transform is \"TANH\""},
      {{{"nodes_values_as_tensor", Tensor({0.5, 0, 0})}},
       "attributes nodes_values and nodes_values_as_tensor are both given"}};
  ExpectErrors("TreeEnsembleRegressor", Regressor(), wrong);
}

TEST(MlErrors, TreeEnsemble) {
  const Attributes good = {{"nodes_featureids", Integers({0, 1})},
                           {"nodes_modes", Tensor({0, 6}, 2)},
                           {"nodes_splits", Tensor({0.5, 0})},
                           {"nodes_truenodeids", Integers({1, 0})},
                           {"nodes_trueleafs", Integers({0, 1})},
                           {"nodes_falsenodeids", Integers({1, 1})},
                           {"nodes_falseleafs", Integers({1, 1})},
                           {"membership_values", Tensor({1, 2, NAN})},
                           {"leaf_targetids", Integers({0, 0})},
                           {"leaf_weights", Tensor({1, 2})},
                           {"n_targets", Number(1)},
                           {"tree_roots", Integers({0})}};
  const std::vector<Wrong> wrong = {
      {{{"tree_roots", Integers({2})}}, "attribute tree_roots has the entry 2"},
      {{{"tree_roots", Integers({})}}, "attribute tree_roots is empty"},
      {{{"nodes_truenodeids", Integers({0, 0})}}, "node 0 is below itself"},
      {{{"nodes_falsenodeids", Integers({2, 1})}},
       "attribute nodes_falsenodeids has the entry 2, outside of 2 leaves"},
      {{{"nodes_trueleafs", Integers({0})}}, "attribute nodes_trueleafs has 1"},
      {{{"membership_values", Tensor({1, NAN, 2, NAN})}},
       "attribute membership_values has 2 sets"},
      {{{"nodes_modes", Tensor({0, 7}, 2)}},
       "attribute nodes_modes has the entry 7"},
      {{{"nodes_splits", Tensor({1, 1}, 2)}},
       "attribute nodes_splits is u8[2]"},
      {{{"leaf_targetids", Integers({0, 1})}},
       "attribute leaf_targetids has the entry 1"},
      {{{"aggregate_function", Number(4)}},
       "attribute aggregate_function is 4"},
      {{{"post_transform", Number(-1)}}, "attribute post_transform is -1"}};
  ExpectErrors("TreeEnsemble", good, wrong, 5,
               TensorInput("x", {"N", "4"}, 11));
}

TEST(MlErrors, SupportVectors) {
  const Attributes good = {
      {"kernel_type", Text("RBF")},
      {"kernel_params", Floats({1, 0, 0})},
      {"vectors_per_class", Integers({1, 1})},
      {"support_vectors", Floats({1, 2, 3, 4, 5, 6, 7, 8})},
      {"coefficients", Floats({1, -1})},
      {"rho", Floats({0})},
      {"classlabels_ints", Integers({0, 1})}};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<Wrong> wrong = {
      {{{"kernel_type", Text("LAPLACE")}}, "attribute kernel_type is"},
      {{{"kernel_params", Floats({1})}}, "attribute kernel_params has 1"},
      {{{"vectors_per_class", Integers({-1, 3})}},
       "attribute vectors_per_class has the entry -1"},
      {{{"vectors_per_class", Integers({kMost, kMost})}},
       "attribute vectors_per_class has the entry"},
      {{{"vectors_per_class", Integers({2})}},
       "attribute vectors_per_class has 1 entries, expected 2"},
      {{{"support_vectors", Floats({1, 2, 3})}},
       "attribute support_vectors has 3 entries"},
      {{{"support_vectors", Floats({1, 2})}}, "expected 1 features"},
      {{{"coefficients", Floats({1})}}, "attribute coefficients has 1"},
      {{{"rho", Floats({1, 2})}}, "attribute rho has 2 entries, expected 1"},
      {{{"prob_a", Floats({1})}}, "attribute prob_b has 0 entries, expected 1"},
      {{{"classlabels_strings", Texts({"a", "b"})}}, "are both given"},
      {{{"classlabels_ints", Integers({})}}, "are both empty"}};
  ExpectErrors("SVMClassifier", good, wrong);
}

TEST(MlErrors, LinearModelsAndTables) {
  ExpectErrors(
      "LinearRegressor", {{"coefficients", Floats({1, 2, 3, 4})}},
      {{{{"targets", Number(0)}}, "attribute targets is 0"},
       {{{"targets", Number(3)}}, "attribute coefficients has 4"},
       {{{"targets", Number(2)}}, "expected 2 features"},
       {{{"intercepts", Floats({1, 2})}}, "attribute intercepts has 2"}});
  ExpectErrors("Imputer", {{"imputed_value_floats", Floats({1})}},
               {{{{"imputed_value_floats", Floats({1, 2})}},
                 "attribute imputed_value_floats has 2 entries"},
                {{{"imputed_value_int64s", Integers({1})}},
                 "attribute imputed_value_int64s is given"}});
  ExpectErrors("Normalizer", {},
               {{{{"norm", Text("L3")}}, "attribute norm is \"L3\""}});
  ExpectErrors("LabelEncoder",
               {{"keys_floats", Floats({1})}, {"values_int64s", Integers({1})}},
               {{{{"keys_int64s", Integers({1})}},
                 "attributes keys_int64s and keys_floats are both given"},
                {{{"values_int64s", Integers({1, 2})}},
                 "attribute values_int64s has 2 entries, expected 1"}});
  ExpectErrors("OneHotEncoder", {{"cats_int64s", Integers({1})}},
               {{{{"cats_strings", Texts({"a"})}}, "are both given"},
                {{{"zeros", Number(2)}}, "attribute zeros is 2"}});
}

// Known only when it runs.
TEST(MlErrors, AtRunTime) {
  const auto trees = ImportNode("TreeEnsembleRegressor", Regressor(), 3,
                                TensorInput("x", {"N", "F"}));
  ASSERT_TRUE(trees.ok()) << trees.status();
  EXPECT_TRUE(Evaluate(*trees, std::vector{Literal(DType::kF32, {2, 4})}).ok());
  EXPECT_FALSE(
      Evaluate(*trees, std::vector{Literal(DType::kF32, {2, 3})}).ok());
  const auto one_hot =
      ImportNode("OneHotEncoder",
                 {{"cats_int64s", Integers({0, 1})}, {"zeros", Number(0)}}, 3,
                 TensorInput("x", {"N"}, kInt64));
  ASSERT_TRUE(one_hot.ok()) << one_hot.status();
  const auto run = [&](int64_t category) {
    const std::vector<Literal> x = {
        Literal::FromValues<int64_t>({2}, {1, category})};
    return Evaluate(*one_hot, x).status();
  };
  EXPECT_TRUE(run(0).ok());
  EXPECT_THAT(std::string(encore::Message(run(2))),
              HasSubstr("none of the categories"));
}

// A tree of one leaf, transformed as the standard numbers transforms.
TEST(Ml, NumbersOfTransforms) {
  const auto transformed = [](int64_t transform) {
    const auto graph = ImportNode("TreeEnsemble",
                                  {{"nodes_featureids", Integers({0})},
                                   {"nodes_modes", Tensor({0}, 2)},
                                   {"nodes_splits", Tensor({0})},
                                   {"nodes_truenodeids", Integers({0})},
                                   {"nodes_trueleafs", Integers({1})},
                                   {"nodes_falsenodeids", Integers({0})},
                                   {"nodes_falseleafs", Integers({1})},
                                   {"leaf_targetids", Integers({0})},
                                   {"leaf_weights", Tensor({0.75})},
                                   {"post_transform", Number(transform)},
                                   {"tree_roots", Integers({0})}},
                                  5, TensorInput("x", {"1", "1"}, 11));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const std::vector<Literal> x = {Literal(DType::kF64, {1, 1})};
    return (*Evaluate(*graph, x))[0].AsDouble(0);
  };
  EXPECT_EQ(transformed(0), 0.75);
  EXPECT_EQ(transformed(1), 1);
  EXPECT_NEAR(transformed(2), 1 / (1 + std::exp(-0.75)), 1e-9);
  EXPECT_EQ(transformed(3), 1);
  // The 75 % quantile of the normal distribution, as far as the approximation
  // goes.
  EXPECT_NEAR(transformed(4), 0.6744897501960817, 1e-3);
}

// The last one counts, as opset 4 says.
TEST(Ml, RepeatedKeys) {
  const auto graph = ImportNode("LabelEncoder",
                                {{"keys_int64s", Integers({5, 3, 5})},
                                 {"values_floats", Floats({1, 2, 3})}},
                                4, TensorInput("x", {"3"}, kInt64));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Literal> x = {Literal::FromValues<int64_t>({3}, {3, 4, 5})};
  const auto y = Evaluate(*graph, x);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0], Literal::FromValues<float>({3}, {2.0f, -0.0f, 3.0f}));
}

}  // namespace
}  // namespace encore::onnx
