#include "encore/tools/io/onnx_value.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/mapped_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using ::testing::HasSubstr;

std::string TempPath(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

Literal Floats(float a, float b) {
  return Literal::FromValues<float>({2}, {a, b});
}

std::vector<Literal> Examples() {
  const Literal sequence = Literal::Sequence(
      DType::kF32, {Floats(1, 2), Literal::FromValues<float>({}, {3})});
  return {Floats(1, 2),
          Literal(DType::kF32, {0, 3}),
          Literal::Strings({2}, {"a", std::string("\0\xff", 2)}),
          sequence,
          Literal::Sequence(DType::kI64, {}),
          Literal::Sequence(DType::kString, {Literal::Strings({1}, {"b"})}),
          Literal::Optional(Floats(5, 6)),
          Literal::Optional(sequence),
          Literal::Absent(DType::kF32, ValueKind::kOptional),
          Literal::Absent(DType::kI8, ValueKind::kOptionalSequence)};
}

TEST(OnnxValue, EveryKindRoundTrips) {
  for (const Literal& value : Examples()) {
    const std::string path = TempPath("x.pb");
    ASSERT_TRUE(WriteOnnxValue(path, "x", value).ok());
    const auto back = ReadOnnxValue(path, value.type());
    ASSERT_TRUE(back.ok()) << value.type().ToString() << ": " << back.status();
    EXPECT_EQ(*back, value) << value.type().ToString();
  }
}

TEST(OnnxValue, EveryDTypeRoundTrips) {
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype)) continue;
    Literal value(dtype, {5});
    for (int i = 0; i < 5; ++i) value.SetInt(i, i % 2 == 0 ? i : -i);
    const Status written = WriteOnnxValue(TempPath("d.pb"), "d", value);
    ASSERT_TRUE(written.ok()) << dtype << ": " << written;
    const auto back = ReadOnnxValue(TempPath("d.pb"), value.type());
    ASSERT_TRUE(back.ok()) << dtype << ": " << back.status();
    EXPECT_EQ(*back, value) << dtype;
  }
}

// ONNX's own data: what its reference gives for SplitToSequence.
TEST(OnnxValue, SequencesOfTheStandardAreRead) {
  const std::string folder =
      "/usr/share/libonnx-testdata/data/node/test_sequence_insert_at_back/"
      "test_data_set_0/";
  const TensorType type{DType::kI64, Shape(), ValueKind::kSequence};
  const auto before = ReadOnnxValue(folder + "input_0.pb", type);
  const auto after = ReadOnnxValue(folder + "output_0.pb", type);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->elements().size(), before->elements().size() + 1);
}

TEST(OnnxValue, TruncationsAreErrorsOrValues) {
  for (const Literal& value : Examples()) {
    const std::string path = TempPath("t.pb");
    ASSERT_TRUE(WriteOnnxValue(path, "x", value).ok());
    const auto file = MappedFile::Open(path);
    ASSERT_TRUE(file.ok());
    const std::string bytes(
        reinterpret_cast<const char*>((*file)->bytes().data()),
        (*file)->bytes().size());
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string part = TempPath("p.pb");
      std::ofstream(part, std::ios::binary) << bytes.substr(0, size);
      const auto back = ReadOnnxValue(part, value.type());
      if (!back.ok()) {
        EXPECT_THAT(Message(back.status()), HasSubstr(part));
      }
    }
  }
}

TEST(OnnxValue, AFolderTakesEveryKindAndNpzTensorsOnly) {
  const Literal sequence = Literal::Sequence(DType::kF32, {Floats(1, 2)});
  const std::string folder = TempPath("saved/");
  ASSERT_TRUE(
      SaveValues(folder, {{{"s", sequence}, {"x", Floats(3, 4)}}}).ok());
  const auto back = ReadOnnxValue(folder + "output_0.pb", sequence.type());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, sequence);
  EXPECT_TRUE(std::filesystem::exists(folder + "output_1.pb"));
  const Status status = SaveValues(TempPath("s.npz"), {{{"s", sequence}}});
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(Message(status), HasSubstr("\"s\" is "));
  EXPECT_FALSE(std::filesystem::exists(TempPath("s.npz")));
}

// Files as the onnx package writes them (make_values.py).
std::string Made(const std::string& name) {
  return "tools/io/testdata/" + name + ".pb";
}

TensorType Of(ValueKind kind, DType dtype = DType::kF32) {
  return {dtype, Shape(), kind};
}

// The error where a file is read as a value of that type.
std::string ErrorOf(const std::string& name, const TensorType& type) {
  const auto value = ReadOnnxValue(Made(name), type);
  return value.ok() ? "no error" : Message(value.status());
}

TEST(OnnxValue, EveryKindOfTheOnnxPackageIsRead) {
  const Literal rows = Literal::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Literal sparse = Literal::FromValues<float>({2, 3}, {0, 5, 0, 0, 6, 0});
  const Literal sequence = Literal::Sequence(
      DType::kF32, {rows, Literal::FromValues<float>({3}, {1, 2, 3}),
                    Literal::Scalar(7.0f)});
  const std::vector<std::pair<std::string, Literal>> files = {
      {"tensor", rows},
      {"strings", Literal::Strings({2}, {"ant", "bee"})},
      {"sparse", sparse},
      {"sparse_by_row", sparse},
      {"sequence", sequence},
      {"sequence_of_none", Literal::Sequence(DType::kF32, {})},
      {"sequence_of_sparse", Literal::Sequence(DType::kF32, {sparse})},
      {"optional", Literal::Optional(rows)},
      {"optional_of_none", Literal::Absent(DType::kF32, ValueKind::kOptional)},
      {"optional_of_sequence", Literal::Optional(sequence)},
      {"optional_of_sparse", Literal::Optional(sparse)}};
  for (const auto& [name, expected] : files) {
    const auto value = ReadOnnxValue(Made(name), expected.type());
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, expected) << name;
  }
}

TEST(OnnxValue, WhatIsNotSupportedIsNamed) {
  EXPECT_THAT(ErrorOf("sequence_of_sequences", Of(ValueKind::kSequence)),
              HasSubstr("sequence_of_sequences.pb: a sequence of sequences"));
  EXPECT_THAT(ErrorOf("sequence_of_optionals", Of(ValueKind::kSequence)),
              HasSubstr("a sequence of optionals is not supported"));
  EXPECT_THAT(ErrorOf("maps", Of(ValueKind::kSequence)),
              HasSubstr("a sequence of maps is given for a sequence of"));
  EXPECT_THAT(ErrorOf("optional_of_map", Of(ValueKind::kOptional)),
              HasSubstr("an optional of a map is not supported"));
  EXPECT_THAT(ErrorOf("optional_of_optional", Of(ValueKind::kOptional)),
              HasSubstr("an optional of an optional is not supported"));
  EXPECT_THAT(ErrorOf("complex64", Of(ValueKind::kTensor)),
              HasSubstr("element type complex64 is not supported"));
  EXPECT_THAT(ErrorOf("complex128", Of(ValueKind::kTensor)),
              HasSubstr("element type complex128 is not supported"));
}

StatusOr<std::vector<Literal>> ReadMap(const std::string& name,
                                       ModelTypes::Map map, DType keys) {
  const ModelTypes::Value value{
      "m", Of(ValueKind::kTensor), {"m.keys", "m.values"}, map, keys};
  return ReadModelValue(Made(name), value);
}

TEST(OnnxValue, MapsAreKeysAndValues) {
  using Map = ModelTypes::Map;
  const auto map = ReadMap("map", Map::kMap, DType::kI64);
  ASSERT_TRUE(map.ok()) << map.status();
  ASSERT_EQ(map->size(), 2u);
  EXPECT_EQ((*map)[0], Literal::FromValues<int64_t>({2}, {-1, 9}));
  EXPECT_EQ((*map)[1], Floats(2, 0.5));
  const auto words = ReadMap("map_of_strings", Map::kMap, DType::kString);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ((*words)[0], Literal::Strings({2}, {"a", "b"}));
  EXPECT_EQ((*words)[1], Floats(-2, 0.5));
  const auto maps = ReadMap("maps", Map::kSequence, DType::kI64);
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ((*maps)[0], Literal::FromValues<int64_t>({2}, {0, 1}));
  EXPECT_EQ((*maps)[1], Literal::FromValues<float>({2, 2}, {2, 1, 3, 4}));
  const auto wrong = ReadMap("map", Map::kMap, DType::kString);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(Message(wrong.status()),
              HasSubstr("map.pb: keys of a map are int64, not string"));
  const auto other = ReadMap("maps_of_other_keys", Map::kSequence, DType::kI64);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(Message(other.status()), HasSubstr("has other keys"));
}

TEST(OnnxValue, MapsAreSavedWhole) {
  using Map = ModelTypes::Map;
  struct Case {
    const char* file;
    Map map;
    DType keys;
  };
  for (const auto& [file, map, keys] :
       {Case{"map", Map::kMap, DType::kI64},
        Case{"map_of_strings", Map::kMap, DType::kString},
        Case{"maps", Map::kSequence, DType::kI64}}) {
    const auto parts = ReadMap(file, map, keys);
    ASSERT_TRUE(parts.ok()) << parts.status();
    const ModelTypes::Value output{
        "m", Of(ValueKind::kTensor), {"m.keys", "m.values"}, map, keys};
    const std::string path = TempPath("map.pb");
    const Status saved =
        SaveValues(path, {{{"m.keys", (*parts)[0]}, {"m.values", (*parts)[1]}}},
                   {&output, 1});
    ASSERT_TRUE(saved.ok()) << saved;
    const auto back = ReadModelValue(path, output);
    ASSERT_TRUE(back.ok()) << file << ": " << back.status();
    EXPECT_EQ(*back, *parts) << file;
  }
}

TEST(OnnxValue, OneValueIsSavedAsOneFile) {
  const Literal sequence = Literal::Sequence(DType::kF32, {Floats(1, 2)});
  const std::string path = TempPath("one.pb");
  ASSERT_TRUE(SaveValues(path, {{{"s", sequence}}}).ok());
  const auto back = ReadOnnxValue(path, sequence.type());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, sequence);
  const Status two = SaveValues(path, {{{"s", sequence}, {"t", sequence}}});
  EXPECT_EQ(two.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(two), HasSubstr("2 values"));
}

}  // namespace
}  // namespace encore::tools
