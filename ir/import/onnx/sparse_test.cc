#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

template <typename T>
Proto Tensor(int type, std::vector<int64_t> dims, std::vector<T> values) {
  Proto tensor;
  for (const int64_t dim : dims) tensor.Int(1, dim);
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(T));
  return tensor.Int(2, type).Bytes(8, "w").Bytes(9, bytes);
}

Proto Sparse(std::vector<float> values, const Proto& indices,
             std::vector<int64_t> dims) {
  Proto sparse;
  const auto count = static_cast<int64_t>(values.size());
  sparse.Sub(1, Tensor(1, {count}, std::move(values))).Sub(2, indices);
  for (const int64_t dim : dims) sparse.Int(3, dim);
  return sparse;
}

// x + w, where w [2,3] is sparse.
ModelText Model(const Proto& sparse) {
  return {.nodes = {Node("Add", {"x", "w"}, {"y"})},
          .sparse_initializers = {sparse}};
}

// What ModelText gives for zeros.
std::vector<float> Compute(const ModelText& text) {
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  std::vector<Literal> arguments;
  for (const auto& argument : graph->arguments()) {
    arguments.push_back(argument.data ? *argument.data
                                      : Literal(DType::kF32, {2, 3}));
  }
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  std::vector<float> values((*results)[0].element_count());
  std::memcpy(values.data(), (*results)[0].bytes().data(),
              (*results)[0].bytes().size());
  return values;
}

const std::vector<float> kDense = {0, 5, 0, 0, 0, 7};

TEST(SparseTensors, PositionsAndCoordinates) {
  const auto linear = Sparse({5, 7}, Tensor<int64_t>(7, {2}, {1, 5}), {2, 3});
  EXPECT_EQ(Compute(Model(linear)), kDense);
  const auto pairs =
      Sparse({5, 7}, Tensor<int64_t>(7, {2, 2}, {0, 1, 1, 2}), {2, 3});
  EXPECT_EQ(Compute(Model(pairs)), kDense);
  EXPECT_EQ(Compute(Model(Sparse({}, Tensor<int64_t>(7, {0}, {}), {2, 3}))),
            std::vector<float>(6));
}

TEST(SparseTensors, AsAConstant) {
  const Proto value =
      Proto()
          .Bytes(1, "sparse_value")
          .Sub(22, Sparse({5, 7}, Tensor<int64_t>(7, {2}, {1, 5}), {2, 3}))
          .Int(20, 11);
  EXPECT_EQ(Compute({.nodes = {Node("Constant", {}, {"w"}, {value}),
                               Node("Add", {"x", "w"}, {"y"})}}),
            kDense);
}

TEST(SparseTensors, WhatDoesNotFitIsRefused) {
  const auto error = [](const Proto& indices, std::vector<int64_t> dims) {
    return ErrorOf(Model(Sparse({5, 7}, indices, std::move(dims))));
  };
  EXPECT_THAT(error(Tensor<int64_t>(7, {2}, {1, 6}), {2, 3}),
              HasSubstr("\"w\": index 1 is outside of [2,3]"));
  EXPECT_THAT(error(Tensor<int64_t>(7, {2}, {-1, 3}), {2, 3}),
              HasSubstr("index 0 is outside"));
  EXPECT_THAT(error(Tensor<int64_t>(7, {2, 2}, {0, 1, 0, 3}), {2, 3}),
              HasSubstr("index 1 is outside"));
  EXPECT_THAT(error(Tensor<int64_t>(7, {2}, {3, 3}), {2, 3}),
              HasSubstr("index 1 is not above"));
  EXPECT_THAT(error(Tensor<int64_t>(7, {1}, {3}), {2, 3}),
              HasSubstr("indices are i64[1] for 2 values"));
  EXPECT_THAT(error(Tensor<int64_t>(7, {2, 1}, {3, 4}), {2, 3}),
              HasSubstr("indices are i64[2,1] for 2 values of rank 2"));
  EXPECT_THAT(error(Tensor<float>(1, {2}, {3, 4}), {2, 3}),
              HasSubstr("indices are f32[2]"));
  EXPECT_THAT(
      error(Tensor<int64_t>(7, {2}, {3, 4}), {int64_t{1} << 40}),
      HasSubstr("a sparse tensor of [1099511627776] has too many zeros"));
}

}  // namespace
}  // namespace encore::onnx
