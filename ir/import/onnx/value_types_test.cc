// Kinds of values and types of elements that Encore does not have: refused by
// name wherever a model or a file has them.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// TypeProtos.
Proto TensorOf(int element) { return Proto().Sub(1, Proto().Int(1, element)); }
Proto SequenceOf(const Proto& type) {
  return Proto().Sub(4, Proto().Sub(1, type));
}
Proto MapOf(int key, const Proto& type) {
  return Proto().Sub(5, Proto().Int(1, key).Sub(2, type));
}
Proto SparseOf(int element) { return Proto().Sub(8, Proto().Int(1, element)); }
Proto OptionalOf(const Proto& type) {
  return Proto().Sub(9, Proto().Sub(1, type));
}

Proto Declared(std::string_view name, const Proto& type) {
  return Proto().Bytes(1, name).Sub(2, type);
}

// The error of a model with an input x of that type.
std::string ErrorOfInput(const Proto& type) {
  return ErrorOf({.nodes = {Node("Identity", {"x"}, {"y"})},
                  .inputs = {Declared("x", type)}});
}

TEST(ValueTypes, NestedOnesAreNamed) {
  const Proto sequence = SequenceOf(TensorOf(1));
  const Proto optional = OptionalOf(TensorOf(1));
  const std::vector<std::pair<Proto, std::string>> types = {
      {SequenceOf(sequence), "seq(seq(tensor(float)))"},
      {SequenceOf(optional), "seq(optional(tensor(float)))"},
      {OptionalOf(optional), "optional(optional(tensor(float)))"},
      {OptionalOf(SequenceOf(sequence)), "optional(seq(seq(tensor(float))))"},
      {OptionalOf(MapOf(7, TensorOf(1))), "optional(map(int64,tensor(float)))"},
      {SequenceOf(SequenceOf(MapOf(8, TensorOf(11)))),
       "seq(seq(map(string,tensor(double))))"},
      {MapOf(7, sequence), "map(int64,seq(tensor(float)))"},
      {MapOf(9, TensorOf(77)), "map(bool,tensor(77))"},
      {SparseOf(1), "sparse_tensor(float)"},
      {SequenceOf(SparseOf(14)), "seq(sparse_tensor(complex64))"}};
  for (const auto& [type, text] : types) {
    EXPECT_THAT(ErrorOfInput(type),
                AllOf(HasSubstr("node \"Identity_node\""),
                      HasSubstr(StrCat("value \"x\" is declared ", text,
                                       ", which is not supported"))));
    EXPECT_THAT(ErrorOf({.nodes = {Node("Abs", {"x"}, {"y"})},
                         .output_type = Declared("y", type)}),
                HasSubstr(StrCat("value \"y\" is declared ", text)));
  }
  EXPECT_THAT(ErrorOfInput(Proto()), HasSubstr("declared as none of tensor"));
}

TEST(ValueTypes, DepthIsBounded) {
  const auto nested = [](int depth) {
    Proto type = TensorOf(1);
    for (int i = 1; i < depth; ++i) type = SequenceOf(type);
    return ErrorOfInput(type);
  };
  EXPECT_THAT(nested(64), HasSubstr("is declared seq(seq("));
  for (const int depth : {65, 1000, 10'000}) {
    EXPECT_THAT(nested(depth), HasSubstr("types nest deeper than 64"));
  }
}

TEST(ValueTypes, AttributesOfOptionalsAreNamed) {
  const auto error = [](const Proto& type) {
    const Proto attribute = Proto().Bytes(1, "type").Sub(14, type).Int(20, 13);
    return ErrorOf({.nodes = {Node("Optional", {}, {"y"}, {attribute})}});
  };
  EXPECT_EQ(error(TensorOf(1)), "no error");
  EXPECT_EQ(error(SequenceOf(TensorOf(1))), "no error");
  EXPECT_THAT(error(OptionalOf(TensorOf(1))),
              HasSubstr("attribute type is optional(tensor(float)), expected"));
  EXPECT_THAT(error(SequenceOf(SequenceOf(TensorOf(1)))),
              HasSubstr("attribute type is seq(seq(tensor(float)))"));
  EXPECT_THAT(error(TensorOf(15)),
              HasSubstr("attribute type: element type complex128"));
}

// A tensor [1] of complex numbers, as onnx.proto has them: two floats each.
Proto ComplexTensor(int type, std::string_view name, bool raw) {
  Proto tensor = Proto().Int(1, 1).Int(2, type);
  if (raw) {
    tensor.Bytes(9, std::string(type == 14 ? 8 : 16, '\0'));
  } else {
    tensor.Float(4, 1).Float(4, 2);
  }
  return tensor.Bytes(8, name);
}

struct ComplexCase {
  int type;
  std::string name;
};

class ComplexTest : public testing::TestWithParam<ComplexCase> {
 protected:
  // The error, which names the type.
  void ExpectRefused(const ModelText& text, std::string_view what) {
    const std::string error = ErrorOf(text);
    EXPECT_THAT(error, HasSubstr(std::string(what)));
    EXPECT_THAT(error, HasSubstr(StrCat("element type ", GetParam().name,
                                        " is not supported")));
  }
  int type() const { return GetParam().type; }
};

TEST_P(ComplexTest, Declarations) {
  const std::vector<Proto> identity = {Node("Identity", {"x"}, {"y"})};
  for (const Proto& declared : {TensorOf(type()), SequenceOf(TensorOf(type())),
                                OptionalOf(TensorOf(type())),
                                OptionalOf(SequenceOf(TensorOf(type())))}) {
    ExpectRefused({.nodes = identity, .inputs = {Declared("x", declared)}},
                  "value \"x\"");
  }
  ExpectRefused({.nodes = {Node("Abs", {"x"}, {"y"})},
                 .output_type = Declared("y", TensorOf(type()))},
                "node \"Abs_node\" (Abs): value \"y\"");
  ExpectRefused(
      {.nodes = {Node("Abs", {"x"}, {"a"}), Node("Abs", {"a"}, {"y"})},
       .values = {Declared("a", TensorOf(type()))}},
      "value \"a\"");
}

TEST_P(ComplexTest, Initializers) {
  for (const bool raw : {false, true}) {
    ExpectRefused({.nodes = {Node("Identity", {"w"}, {"y"})},
                   .initializers = {ComplexTensor(type(), "w", raw)}},
                  "tensor \"w\"");
  }
  const Proto indices = Proto().Int(1, 1).Int(2, 7).Int(7, 0);
  const Proto sparse = Proto()
                           .Sub(1, ComplexTensor(type(), "w", true))
                           .Sub(2, indices)
                           .Int(3, 2);
  ExpectRefused({.nodes = {Node("Identity", {"w"}, {"y"})},
                 .sparse_initializers = {sparse}},
                "tensor \"w\"");
}

TEST_P(ComplexTest, Attributes) {
  const auto tensor = [&](std::string_view name) {
    return Proto()
        .Bytes(1, name)
        .Sub(5, ComplexTensor(type(), "", true))
        .Int(20, 4);
  };
  ExpectRefused({.nodes = {Node("Constant", {}, {"y"}, {tensor("value")})}},
                "node \"Constant_node\" (Constant)");
  ExpectRefused(
      {.nodes = {Node("ConstantOfShape", {"x"}, {"y"}, {tensor("value")})},
       .inputs = {TensorInput("x", {"2"}, kInt64)}},
      "node \"ConstantOfShape_node\" (ConstantOfShape)");
  ExpectRefused(
      {.nodes = {Node("Cast", {"x"}, {"y"}, {IntAttribute("to", type())})}},
      "node \"Cast_node\" (Cast): attribute to");
  ExpectRefused({.nodes = {Node("CastLike", {"x", "w"}, {"y"})},
                 .initializers = {ComplexTensor(type(), "w", true)}},
                "tensor \"w\"");
  for (const char* op : {"EyeLike", "Bernoulli", "RandomNormalLike"}) {
    ExpectRefused(
        {.nodes = {Node(op, {"x"}, {"y"}, {IntAttribute("dtype", type())})}},
        "attribute dtype");
  }
  ExpectRefused({.nodes = {Node("SequenceEmpty", {}, {"y"},
                                {IntAttribute("dtype", type())})}},
                "node \"SequenceEmpty_node\" (SequenceEmpty): attribute dtype");
}

TEST_P(ComplexTest, Files) {
  const std::string bytes = ComplexTensor(type(), "x", true).bytes();
  const auto read = [&](const std::string& file, Type::Kind kind, int element) {
    Type declared;
    declared.kind = kind;
    declared.element_type = element;
    const auto value = ToValue(std::as_bytes(std::span(file)), declared, {});
    return value.ok() ? "no error" : encore::Message(value.status());
  };
  const std::string refused =
      StrCat("element type ", GetParam().name, " is not supported");
  EXPECT_THAT(read(bytes, Type::Kind::kTensor, 1), HasSubstr(refused));
  const std::string sequence = Proto().Int(2, 1).Bytes(3, bytes).bytes();
  EXPECT_THAT(read(sequence, Type::Kind::kSequence, 1), HasSubstr(refused));
  EXPECT_THAT(read(sequence, Type::Kind::kSequence, type()),
              HasSubstr(refused));
  const std::string optional = Proto().Int(2, 1).Bytes(3, bytes).bytes();
  EXPECT_THAT(read(optional, Type::Kind::kOptional, 1), HasSubstr(refused));
}

INSTANTIATE_TEST_SUITE_P(Both, ComplexTest,
                         testing::Values(ComplexCase{14, "complex64"},
                                         ComplexCase{15, "complex128"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace encore::onnx
