#include "encore/tools/io/onnx_value.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace encore::tools
