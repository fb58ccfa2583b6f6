#include "encore/ir/import/onnx/format/map_data.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

constexpr int kString = 8, kComplex64 = 14;

Type MapType(int key, int element, bool sequence = false) {
  Type type;
  type.kind = sequence ? Type::Kind::kMapSequence : Type::Kind::kMap;
  type.key_type = key;
  type.element_type = element;
  return type;
}

Proto Number(float value) { return Proto().Int(2, kFloat).Float(4, value); }

// A SequenceProto of tensors.
Proto Sequence(const std::vector<Proto>& tensors) {
  Proto sequence;
  sequence.Int(2, 1);
  for (const Proto& tensor : tensors) sequence.Sub(3, tensor);
  return sequence;
}

Proto IntMap(std::vector<int64_t> keys, const std::vector<Proto>& values) {
  Proto map;
  map.Bytes(1, "m").Int(2, kInt64);
  for (const int64_t key : keys) map.Int(3, static_cast<uint64_t>(key));
  return map.Sub(5, Sequence(values));
}

Proto StringMap(std::vector<std::string_view> keys,
                const std::vector<Proto>& values) {
  Proto map;
  map.Int(2, kString);
  for (const std::string_view key : keys) map.Bytes(4, key);
  return map.Sub(5, Sequence(values));
}

StatusOr<MapData> Read(const Proto& file, const Type& type) {
  return ToMap(std::as_bytes(std::span(file.bytes())), type, {});
}

std::string ErrorOf(const Proto& file, const Type& type) {
  const auto map = Read(file, type);
  return map.ok() ? "no error" : encore::Message(map.status());
}

TEST(MapData, KeysAscend) {
  const auto map = Read(IntMap({7, -1, 3}, {Number(1), Number(2), Number(3)}),
                        MapType(kInt64, kFloat));
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->keys, Literal::FromValues<int64_t>({3}, {-1, 3, 7}));
  EXPECT_EQ(map->values, Literal::FromValues<float>({3}, {2, 3, 1}));
  const auto words = Read(StringMap({"b", ""}, {Number(1), Number(2)}),
                          MapType(kString, kFloat));
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(words->keys, Literal::Strings({2}, {"", "b"}));
  EXPECT_EQ(words->values, Literal::FromValues<float>({2}, {2, 1}));
  const Proto text = Proto().Int(2, kString).Bytes(6, "x");
  const auto texts = Read(IntMap({4}, {text}), MapType(kInt64, kString));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(texts->values, Literal::Strings({1}, {"x"}));
  const auto none = Read(IntMap({}, {}), MapType(kInt64, kFloat));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->values, Literal(DType::kF32, {0}));
}

TEST(MapData, SequencesAreRows) {
  const Type type = MapType(kInt64, kFloat, /*sequence=*/true);
  const Proto one = IntMap({1, 2}, {Number(1), Number(2)});
  const Proto two = IntMap({2, 1}, {Number(4), Number(3)});
  const auto maps = Read(Proto().Int(2, 4).Sub(6, one).Sub(6, two), type);
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->keys, Literal::FromValues<int64_t>({2}, {1, 2}));
  EXPECT_EQ(maps->values, Literal::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  const auto none = Read(Proto().Int(2, 4), type);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->values, Literal(DType::kF32, {0, 0}));
  EXPECT_THAT(
      ErrorOf(Proto().Sub(6, one).Sub(6, IntMap({2}, {Number(1)})), type),
      HasSubstr("map 1 of a sequence has other keys than the first"));
  EXPECT_THAT(ErrorOf(Proto().Sub(3, Number(1)), type),
              HasSubstr("a sequence of maps has elements that are none"));
}

TEST(MapData, BadMapsAreNamed) {
  const Type type = MapType(kInt64, kFloat);
  EXPECT_THAT(ErrorOf(IntMap({1, 2}, {Number(1)}), type),
              HasSubstr("a map has 2 keys and 1 values"));
  EXPECT_THAT(ErrorOf(IntMap({1}, {Number(1), Number(2)}), type),
              HasSubstr("a map has 1 keys and 2 values"));
  EXPECT_THAT(ErrorOf(IntMap({1, 1}, {Number(1), Number(2)}), type),
              HasSubstr("key 1 of a map is there twice"));
  EXPECT_THAT(ErrorOf(StringMap({"a"}, {Number(1)}), type),
              HasSubstr("keys of a map are string, not int64"));
  EXPECT_THAT(ErrorOf(StringMap({"a"}, {Number(1)}).Int(2, kInt64), type),
              HasSubstr("has keys in the field of another type"));
  const Proto two = Proto().Int(1, 2).Int(2, kFloat).Float(4, 1).Float(4, 2);
  EXPECT_THAT(ErrorOf(IntMap({1}, {two}), type),
              HasSubstr("value 0 of a map is f32[2], expected one f32"));
  const Proto integer = Proto().Int(2, kInt64).Int(7, 1);
  EXPECT_THAT(ErrorOf(IntMap({1}, {integer}), type),
              HasSubstr("value 0 of a map is i64[], expected one f32"));
  const Proto nested = Proto().Int(2, kInt64).Int(3, 1).Sub(
      5, Proto().Int(2, 4).Sub(6, IntMap({1}, {Number(1)})));
  EXPECT_THAT(ErrorOf(nested, type), HasSubstr("a sequence of maps is given"));
  EXPECT_THAT(ErrorOf(IntMap({}, {}), MapType(kInt64, kComplex64)),
              HasSubstr("element type complex64 is not supported"));
}

TEST(MapData, TruncationsAreErrorsOrMaps) {
  const Proto map = StringMap({"ab", "c"}, {Number(1), Number(2)});
  const std::string sequence =
      Proto().Int(2, 4).Sub(6, map).Sub(6, map).bytes();
  for (size_t size = 0; size < sequence.size(); ++size) {
    const auto part = std::as_bytes(std::span(sequence).first(size));
    const auto maps = ToMap(part, MapType(kString, kFloat, true), {});
    if (maps.ok()) {
      EXPECT_EQ(maps->values.rank(), 2);
    }
  }
}

}  // namespace
}  // namespace encore::onnx
