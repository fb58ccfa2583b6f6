// Files of 2 GiB and more: offsets and lengths have 64 bits, the model's own as
// those of external data, and what is not computed with is mapped, not read.
// The files are mostly holes.

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// More than any signed or unsigned 32-bit number of bytes.
constexpr int64_t kFar = int64_t{5} << 30;
// More than protobuf takes.
constexpr int64_t kLarge = (int64_t{1} << 31) + 7;
// What an import may take of memory.
constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr int kUint8 = 2;

int64_t PeakBytes() {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

// The data of the parameter w.
std::optional<Literal> WeightsOf(const encore::Graph& graph) {
  for (const auto& argument : graph.arguments()) {
    if (argument.name == "w") return argument.data;
  }
  return std::nullopt;
}

class LargeFile : public testing::Test {
 protected:
  LargeFile() : folder_(fs::path(testing::TempDir()) / "large") {
    fs::create_directories(folder_);
  }
  ~LargeFile() override { fs::remove_all(folder_); }

  std::string Path(std::string_view name) const { return folder_ / name; }

  // A file that has each text at its offset.
  void Write(std::string_view name,
             const std::vector<std::pair<int64_t, std::string>>& parts) {
    std::ofstream file(Path(name), std::ios::binary);
    for (const auto& [offset, text] : parts) {
      file.seekp(offset);
      file << text;
    }
    ASSERT_TRUE(file.good());
  }

  // The weights of m.onnx, which is imported without being read.
  std::optional<Literal> MappedWeights() const {
    const int64_t before = PeakBytes();
    const auto graph = ImportFile(Path("m.onnx"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    EXPECT_LT(PeakBytes() - before, kMostBytes);
    return graph.ok() ? WeightsOf(*graph) : std::nullopt;
  }

 private:
  fs::path folder_;
};

// A model that gives a part of the bytes `w`, an initializer, from where the
// input `i` says.
std::string Model(const Proto& initializer) {
  Proto graph;
  graph.Sub(1, Node("Gather", {"w", "i"}, {"y"})).Bytes(2, "g");
  graph.Sub(5, initializer).Sub(11, TensorInput("i", {"1"}, kInt64));
  graph.Sub(12, Proto().Bytes(1, "y"));
  return Proto()
      .Int(1, 8)
      .Sub(8, Proto().Bytes(1, "").Int(2, 21))
      .Sub(7, graph)
      .bytes();
}

Proto External(int64_t count, int64_t offset, int64_t length) {
  const auto entry = [](std::string_view key, const std::string& value) {
    return Proto().Bytes(1, key).Bytes(2, value);
  };
  Proto tensor;
  tensor.Int(1, static_cast<uint64_t>(count)).Int(2, kUint8).Bytes(8, "w");
  tensor.Int(14, 1).Sub(13, entry("location", "weights.bin"));
  tensor.Sub(13, entry("offset", StrCat(offset)));
  return tensor.Sub(13, entry("length", StrCat(length)));
}

TEST_F(LargeFile, SmallTensorsLieFarOut) {
  Write("weights.bin", {{kFar, "abcd"}});
  Write("m.onnx", {{0, Model(External(4, kFar, 4))}});
  const int64_t before = PeakBytes();
  const auto graph = ImportFile(Path("m.onnx"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_LT(PeakBytes() - before, kMostBytes);
  const std::vector<Literal> i = {Literal::FromValues<int64_t>({1}, {2})};
  const auto y = Evaluate(*graph, i);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].AsInt(0), 'c');
}

TEST_F(LargeFile, LargeTensorsAreMapped) {
  Write("weights.bin", {{kFar + kLarge - 1, "z"}});
  Write("m.onnx", {{0, Model(External(kLarge, kFar, kLarge))}});
  const auto data = MappedWeights();
  ASSERT_TRUE(data.has_value());
  ASSERT_EQ(data->element_count(), kLarge);
  EXPECT_EQ(data->AsInt(0), 0);
  EXPECT_EQ(data->AsInt(kLarge - 1), 'z');
}

TEST_F(LargeFile, WhatLeavesTheFileIsNamed) {
  Write("weights.bin", {{kFar + 3, "d"}});
  const auto error = [&](int64_t count, int64_t offset, int64_t length) {
    Write("m.onnx", {{0, Model(External(count, offset, length))}});
    const auto graph = ImportFile(Path("m.onnx"));
    return graph.ok() ? "no error" : encore::Message(graph.status());
  };
  EXPECT_EQ(error(4, kFar, 4), "no error");
  EXPECT_THAT(error(4, kFar + 1, 4),
              HasSubstr(StrCat("4 bytes from ", kFar + 1, " leave")));
  EXPECT_THAT(error(4, kFar + 5, 4), HasSubstr("the offset leaves"));
  // As 32 bits these would be right.
  EXPECT_THAT(error(4, kFar, (int64_t{1} << 32) + 4), HasSubstr("leave"));
  EXPECT_THAT(error((int64_t{1} << 32) + 4, kFar, 4),
              HasSubstr("has 4294967300 bytes, not 4"));
}

// A field that is larger than its content here.
std::string FieldHead(int field, int64_t size) {
  std::string head = Proto().Int(field, static_cast<uint64_t>(size)).bytes();
  head[0] = static_cast<char>(field << 3 | 2);
  return head;
}

TEST_F(LargeFile, ModelsHaveMoreThanTwoGibibytes) {
  // The weights are a hole in the middle: a node and an input come after it.
  const std::string raw_head = Proto()
                                   .Int(1, static_cast<uint64_t>(kLarge))
                                   .Int(2, kUint8)
                                   .Bytes(8, "w")
                                   .bytes() +
                               FieldHead(9, kLarge);
  const auto raw_size = static_cast<int64_t>(raw_head.size()) + kLarge;
  const std::string rest = Proto()
                               .Sub(1, Node("Gather", {"w", "i"}, {"y"}))
                               .Bytes(2, "g")
                               .Sub(11, TensorInput("i", {"1"}, kInt64))
                               .Sub(12, Proto().Bytes(1, "y"))
                               .bytes();
  const std::string tensor_head = FieldHead(5, raw_size);
  const std::string head =
      Proto().Int(1, 8).bytes() +
      FieldHead(7, static_cast<int64_t>(tensor_head.size() + rest.size()) +
                       raw_size) +
      tensor_head + raw_head;
  const auto end = static_cast<int64_t>(head.size()) + kLarge;
  const std::string imports =
      Proto().Sub(8, Proto().Bytes(1, "").Int(2, 21)).bytes();
  Write("m.onnx", {{0, head}, {end - 1, "z" + rest + imports}});
  const auto data = MappedWeights();
  ASSERT_TRUE(data.has_value());
  ASSERT_EQ(data->element_count(), kLarge);
  EXPECT_EQ(data->AsInt(kLarge - 1), 'z');
  // Broken behind the hole: the byte is named.
  Write("b.onnx", {{0, head}, {end - 1, "z" + rest + "\xff"}});
  const auto broken = ImportFile(Path("b.onnx"));
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(std::string(encore::Message(broken.status())),
              HasSubstr(StrCat("(byte ",
                               end + static_cast<int64_t>(rest.size()), ")")));
}

}  // namespace
}  // namespace encore::onnx
