// Numbers of images and lengths of sequences: those out of range end the run,
// as they do in ONNX Runtime (1.31.1), whose results the expected ones are.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

Literal I64(const std::vector<int64_t>& values) {
  return Literal::Vector<int64_t>(values);
}

// 0, 1, 2, … of f32.
Literal Counted(const std::vector<int64_t>& dims) {
  Literal literal(DType::kF32, dims);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, static_cast<double>(i));
  }
  return literal;
}

std::vector<double> Values(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    values.push_back(literal.AsDouble(i));
  }
  return values;
}

// An initializer of the values of `literal`.
Proto Initializer(std::string_view name, const Literal& literal) {
  Proto tensor;
  for (const int64_t dim : literal.dims()) tensor.Int(1, dim);
  const auto bytes = literal.bytes();
  return tensor.Int(2, literal.dtype() == DType::kI64 ? kInt64 : kFloat)
      .Bytes(8, name)
      .Bytes(9, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// A node of which `places` may be out of range.
struct PlaceCase {
  std::string op;
  std::vector<Proto> attributes;
  std::vector<std::pair<std::string, Literal>> inputs;
  std::string places;
  // Whether constant places are looked at by the import: those of integers.
  bool are_known = true;
};

bool AnyMayFail(const encore::Graph& graph) {
  for (const NodeId node : Nodes(graph)) {
    if (MayFail(graph.op(node), graph.attributes(node))) return true;
  }
  return false;
}

// What the model gives, with its places as a constant or as an input.
StatusOr<std::vector<double>> Run(const PlaceCase& given, bool constant) {
  ModelText text;
  text.inputs.clear();
  std::vector<std::string_view> names;
  std::vector<Literal> arguments;
  for (const auto& [name, value] : given.inputs) {
    names.push_back(name);
    if (constant && name == given.places) {
      text.initializers.push_back(Initializer(name, value));
      continue;
    }
    std::vector<std::string> dims;
    for (const int64_t dim : value.dims()) dims.push_back(StrCat(dim));
    text.inputs.push_back(TensorInput(
        name, dims, value.dtype() == DType::kI64 ? kInt64 : kFloat));
    arguments.push_back(value);
  }
  text.nodes = {Node(given.op, names, {"y"}, given.attributes)};
  const auto graph = ImportText(text);
  if (!graph.ok()) return graph.status();
  EXPECT_EQ(AnyMayFail(*graph), !constant || !given.are_known) << given.op;
  const auto results = Evaluate(*graph, arguments);
  if (!results.ok()) return results.status();
  return Values((*results)[0]);
}

void ExpectValues(const PlaceCase& given, const std::vector<double>& expected) {
  for (const bool constant : {false, true}) {
    const auto values = Run(given, constant);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ(*values, expected) << given.op << (constant ? ", constant" : "");
  }
}

void ExpectErrors(const PlaceCase& given, std::string_view constant_message) {
  const auto at_run_time = Run(given, /*constant=*/false).status();
  EXPECT_EQ(at_run_time.code(), StatusCode::kOutOfRange) << given.op;
  EXPECT_THAT(Message(at_run_time), HasSubstr(StrCat(given.op, "_node")));
  const auto constant = Run(given, /*constant=*/true).status();
  EXPECT_EQ(constant.code(), given.are_known ? StatusCode::kInvalidArgument
                                             : StatusCode::kOutOfRange)
      << given.op;
  EXPECT_THAT(Message(constant), HasSubstr(StrCat(given.op, "_node")));
  EXPECT_THAT(Message(constant), HasSubstr(constant_message));
}

PlaceCase ReverseSequence(const std::vector<int64_t>& lengths,
                          bool time_first) {
  return {"ReverseSequence",
          {IntAttribute("time_axis", time_first ? 0 : 1),
           IntAttribute("batch_axis", time_first ? 1 : 0)},
          {{"x", Counted(time_first ? std::vector<int64_t>{4, 2}
                                    : std::vector<int64_t>{2, 4})},
           {"lengths", I64(lengths)}},
          "lengths"};
}

TEST(PlaceRangeTest, SequencesOfNoStepToAll) {
  ExpectValues(ReverseSequence({4, 4}, true), {6, 7, 4, 5, 2, 3, 0, 1});
  ExpectValues(ReverseSequence({0, 4}, true), {0, 7, 2, 5, 4, 3, 6, 1});
  ExpectValues(ReverseSequence({3, 1}, false), {2, 1, 0, 3, 4, 5, 6, 7});
}

TEST(PlaceRangeTest, SequencesOfOtherLengths) {
  for (const bool time_first : {true, false}) {
    for (const int64_t length : {int64_t{5}, int64_t{-1}, int64_t{-5},
                                 int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
      ExpectErrors(ReverseSequence({2, length}, time_first),
                   StrCat("input sequence_lens has ", length));
    }
  }
}

PlaceCase RoiAlign(int64_t image) {
  Literal region(DType::kF32, {1, 4});
  region.SetDouble(2, 2);
  region.SetDouble(3, 2);
  return {
      "RoiAlign",
      {IntAttribute("sampling_ratio", 1),
       StringAttribute("coordinate_transformation_mode", "output_half_pixel")},
      {{"x", Counted({2, 1, 4, 4})}, {"rois", region}, {"at", I64({image})}},
      "at"};
}

PlaceCase MaxRoiPool(double image) {
  Literal region(DType::kF32, {1, 5});
  region.SetDouble(0, image);
  region.SetDouble(3, 2);
  region.SetDouble(4, 2);
  return {"MaxRoiPool",
          {IntsAttribute("pooled_shape", {1, 1})},
          {{"x", Counted({2, 1, 4, 4})}, {"rois", region}},
          "rois",
          /*are_known=*/false};
}

TEST(PlaceRangeTest, RegionsOfImages) {
  ExpectValues(RoiAlign(0), {5});
  ExpectValues(RoiAlign(1), {21});
  ExpectValues(MaxRoiPool(0), {10});
  ExpectValues(MaxRoiPool(1), {26});
}

TEST(PlaceRangeTest, RegionsOfNoImage) {
  for (const int64_t image : {int64_t{2}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    ExpectErrors(RoiAlign(image), StrCat("input batch_indices has ", image));
  }
  for (const double image : {2.0, -1.0, 1e30}) {
    ExpectErrors(MaxRoiPool(image), "of the indices, expected [0, 2)");
  }
}

// Where nobody says how many steps or images there are, the run does.
TEST(PlaceRangeTest, SymbolicExtents) {
  ModelText text;
  text.inputs = {TensorInput("x", {"T", "1"})};
  text.initializers = {Initializer("lengths", I64({3}))};
  text.nodes = {Node("ReverseSequence", {"x", "lengths"}, {"y"})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto reversed = Evaluate(*graph, {{Counted({4, 1})}});
  ASSERT_TRUE(reversed.ok()) << reversed.status();
  EXPECT_EQ(Values((*reversed)[0]), (std::vector<double>{2, 1, 0, 3}));
  EXPECT_THAT(Message(Evaluate(*graph, {{Counted({2, 1})}}).status()),
              HasSubstr("ReverseSequence_node"));
}

}  // namespace
}  // namespace encore::onnx
