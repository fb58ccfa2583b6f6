#include "encore/tools/io/tensor_file.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace encore::tools {
namespace {

std::string TempPath(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

TEST(TensorFile, NpyRoundTrips) {
  const Literal matrix = Literal::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Literal scalar = Literal::FromValues<int64_t>({}, {-7});
  for (const Literal& literal : {matrix, scalar, Literal(DType::kU8, {0, 4})}) {
    const auto back = DecodeNpy(EncodeNpy(literal));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, literal);
  }
}

// Bytes as NumPy 2 writes np.save(f, np.asfortranarray([[1, 2], [3, 4]],
// dtype="<i2")).
TEST(TensorFile, ReadsWhatNumPyWrites) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  std::string header =
      "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }";
  header.append(118 - header.size() - 1, ' ');
  header += '\n';
  bytes += {static_cast<char>(header.size()), 0};
  bytes += header;
  for (const char value : {1, 3, 2, 4}) bytes += {value, 0};
  const auto literal = DecodeNpy(bytes);
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(*literal, Literal::FromValues<int16_t>({2, 2}, {1, 2, 3, 4}));
}

TEST(TensorFile, EveryTruncationIsAnError) {
  const std::string bytes = EncodeNpy(Literal::FromValues<float>({2}, {1, 2}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeNpy(std::string_view(bytes).substr(0, size)).ok())
        << size;
  }
}

TEST(TensorFile, ArchivesRoundTripAndAreDeterministic) {
  const std::vector<std::pair<std::string, Literal>> tensors = {
      {"a/b", Literal::FromValues<double>({3}, {1, 2, 3})},
      {"c", Literal::FromValues<int32_t>({1, 1}, {5})}};
  ASSERT_TRUE(WriteTensors(TempPath("t.npz"), tensors).ok());
  const auto back = ReadTensors(TempPath("t.npz"));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ(back->at("a/b"), tensors[0].second);
  EXPECT_EQ(back->at("c"), tensors[1].second);
}

// What NumPy has no type for comes back by the type that is wanted.
TEST(TensorFile, EveryDTypeRoundTrips) {
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype)) continue;
    Literal literal(dtype, {5});
    for (int i = 0; i < 5; ++i) literal.SetInt(i, i % 2 == 0 ? i : -i);
    const auto back = DecodeNpy(EncodeNpy(literal));
    ASSERT_TRUE(back.ok()) << dtype << ": " << back.status();
    EXPECT_EQ(back->dims(), literal.dims());
    EXPECT_EQ(FromNpyType(*back, dtype), literal) << dtype;
  }
  const Literal x = Literal::FromValues<float>({1}, {1});
  EXPECT_EQ(FromNpyType(x, DType::kBF16), x);
  EXPECT_EQ(FromNpyType(x, DType::kI32), x);
}

TEST(TensorFile, StringsAreRefused) {
  EXPECT_EQ(
      WriteTensors(TempPath("s.npz"), {{{"s", Literal::Strings({1}, {"a"})}}})
          .code(),
      StatusCode::kUnimplemented);
}

TEST(TensorFile, NamesThatAnArchiveWouldLoseAreRefused) {
  const Literal x = Literal::FromValues<float>({1}, {1});
  const std::string path = TempPath("n.npz");
  for (const std::string& name :
       {std::string("a\0b", 3), std::string(65'532, 'n')}) {
    EXPECT_EQ(WriteTensors(path, {{{name, x}}}).code(),
              StatusCode::kUnimplemented);
  }
  EXPECT_EQ(WriteTensors(path, {{{"a", x}, {"b", x}, {"a", x}}}).code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(ReadTensors(path).status().code(), StatusCode::kNotFound);
  const std::string longest(65'531, 'n');
  ASSERT_TRUE(WriteTensors(path, {{{longest, x}}}).ok());
  EXPECT_TRUE(ReadTensors(path)->contains(longest));
}

// An archive may have one name twice; the second is not dropped in silence.
TEST(TensorFile, NamesThatStandTwiceAreAnError) {
  const Literal x = Literal::FromValues<float>({1}, {1});
  ASSERT_TRUE(WriteTensors(TempPath("w.npz"), {{{"aa", x}, {"bb", x}}}).ok());
  std::ifstream in(TempPath("w.npz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (size_t at = 0; (at = bytes.find("bb.npy", at)) != std::string::npos;) {
    bytes.replace(at, 2, "aa");
  }
  std::ofstream(TempPath("w.npz"), std::ios::binary) << bytes;
  EXPECT_EQ(ReadTensors(TempPath("w.npz")).status().code(),
            StatusCode::kDataLoss);
}

TEST(TensorFile, WhatIsNoFileIsNotRead) {
  EXPECT_EQ(ReadNpy("/dev/zero").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadNpy(TempPath("")).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(TensorFile, LongNamesRoundTrip) {
  const std::string name(60'000, 'n');
  const Literal x = Literal::FromValues<float>({1}, {1});
  ASSERT_TRUE(WriteTensors(TempPath("l.npz"), {{{name, x}}}).ok());
  const auto back = ReadTensors(TempPath("l.npz"));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->contains(name));
}

// Every byte in turn: an error, or the same number of tensors.
TEST(TensorFile, DamagedArchivesLoseNothingInSilence) {
  const Literal x = Literal::FromValues<float>({1}, {1});
  ASSERT_TRUE(WriteTensors(TempPath("d.npz"), {{{"a", x}, {"b", x}}}).ok());
  std::ifstream in(TempPath("d.npz"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    std::ofstream(TempPath("e.npz"), std::ios::binary) << damaged;
    const auto tensors = ReadTensors(TempPath("e.npz"));
    if (tensors.ok()) EXPECT_EQ(tensors->size(), 2u) << "byte " << i;
  }
}

TEST(TensorFile, ErrorsNameTheFile) {
  EXPECT_NE(
      Message(ReadTensor("/nowhere/x.npy").status()).find("/nowhere/x.npy"),
      std::string::npos);
  EXPECT_NE(
      Message(ReadTensors("/nowhere/x.npz").status()).find("/nowhere/x.npz"),
      std::string::npos);
  EXPECT_FALSE(WriteTensors("/nowhere/x.npz", {}).ok());
}

}  // namespace
}  // namespace encore::tools
