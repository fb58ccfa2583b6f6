#include "encore/ir/import/onnx/facts.h"

#include <span>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxFacts, MetadataIsReadWithoutTheGraph) {
  const Proto model = Proto()
                          .Int(1, 8)
                          .Bytes(7, "no graph")
                          .Sub(14, Proto().Bytes(1, "labels").Bytes(2, "a\nb"))
                          .Sub(14, Proto().Bytes(1, "empty"));
  const auto bytes = std::as_bytes(std::span(model.bytes()));
  const auto metadata = Metadata(bytes);
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_THAT(*metadata, ElementsAre(testing::Pair("empty", ""),
                                     testing::Pair("labels", "a\nb")));
  EXPECT_FALSE(Metadata(bytes.first(bytes.size() - 1)).ok());
}

TEST(OnnxFacts, TypesOfMapsAreThoseOfTheirParts) {
  const auto declared = [](std::string_view name, const Proto& type) {
    return Proto().Bytes(1, name).Sub(2, type);
  };
  const Proto map = Proto().Sub(
      5, Proto().Int(1, 8).Sub(2, Proto().Sub(1, Proto().Int(1, 11))));
  const Proto maps = Proto().Sub(4, Proto().Sub(1, map));
  const std::string model =
      Proto()
          .Sub(7, Proto()
                      .Sub(11, declared("m", map))
                      .Sub(11, TensorInput("x", {"2"}, kInt64))
                      .Sub(12, declared("z", maps)))
          .bytes();
  const auto types = Types(std::as_bytes(std::span(model)));
  ASSERT_TRUE(types.ok()) << types.status();
  ASSERT_EQ(types->inputs.size(), 2u);
  EXPECT_EQ(types->inputs[0].map, ModelTypes::Map::kMap);
  EXPECT_EQ(types->inputs[0].keys, DType::kString);
  EXPECT_EQ(types->inputs[0].type.dtype, DType::kF64);
  EXPECT_THAT(types->inputs[0].parts, ElementsAre("m.keys", "m.values"));
  EXPECT_EQ(types->inputs[1].map, ModelTypes::Map::kNone);
  EXPECT_THAT(types->inputs[1].parts, ElementsAre("x"));
  EXPECT_EQ(types->outputs[0].map, ModelTypes::Map::kSequence);
  EXPECT_THAT(types->outputs[0].parts, ElementsAre("z.keys", "z.values"));
}

// What a model says beside its graph for inference.
TEST(OnnxFacts, TrainingIsWarnedOf) {
  const auto import_with = [](int field, bool strict,
                              std::vector<std::string>* warnings) {
    Proto graph;
    graph.Sub(1, Node("Abs", {"x"}, {"y"})).Bytes(2, "g");
    graph.Sub(11, TensorInput("x", {"2"})).Sub(12, Proto().Bytes(1, "y"));
    const Proto model = Proto()
                            .Int(1, 8)
                            .Sub(8, Proto().Bytes(1, "").Int(2, 21))
                            .Sub(7, graph)
                            .Sub(field, Proto().Bytes(1, "k").Bytes(2, "v"));
    auto bytes = std::make_shared<const std::string>(model.bytes());
    ImportOptions options;
    options.strict = strict;
    options.warnings = warnings;
    return Import(std::as_bytes(std::span(*bytes)), bytes, {}, options);
  };
  constexpr int kMetadataProps = 14, kTrainingInfo = 20;
  std::vector<std::string> warnings;
  EXPECT_TRUE(import_with(kMetadataProps, true, &warnings).ok());
  EXPECT_THAT(warnings, testing::IsEmpty());
  EXPECT_TRUE(import_with(kTrainingInfo, false, &warnings).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("training_info is ignored")));
  const auto strict = import_with(kTrainingInfo, true, nullptr);
  ASSERT_FALSE(strict.ok());
  EXPECT_THAT(std::string(encore::Message(strict.status())),
              HasSubstr("training_info"));
}

}  // namespace
}  // namespace encore::onnx
