#include "encore/ir/types/dim_codec.h"

#include <string>

#include "gtest/gtest.h"

namespace encore {
namespace {

std::string BytesOf(const Dim& dim) {
  ByteWriter out;
  WriteDim(dim, &out);
  return out.Take();
}

TEST(DimCodec, RoundTrip) {
  const Dim a = Dim::OfSymbol(0), b = Dim::OfSymbol(300);
  const Dim dims[] = {0,
                      -1,
                      INT64_MIN,
                      INT64_MAX,
                      a,
                      a * a * b - b * 7 + 2,
                      FloorDiv(a + 1, b),
                      Mod(a, 5) * Max(a, b),
                      Min(FloorDiv(a, Max(b, 1)), Mod(b, a)) * -3};
  for (const Dim& dim : dims) {
    const std::string bytes = BytesOf(dim) + "rest";
    ByteReader in(bytes);
    EXPECT_EQ(ReadDim(&in, 301), dim);
    ASSERT_TRUE(in.ok()) << dim;
    EXPECT_EQ(in.remaining(), 4u) << dim;
  }
}

// The bytes of the header's grammar, written by hand.
TEST(DimCodec, Bytes) {
  EXPECT_EQ(BytesOf(Dim(-2)), std::string("\x03\x00", 2));
  // 1 + 3 * s2, then floor_div(s0, 2).
  EXPECT_EQ(BytesOf(Dim::OfSymbol(2) * 3 + 1),
            std::string("\x02\x01\x06\x01\x00\x02", 6));
  EXPECT_EQ(BytesOf(FloorDiv(Dim::OfSymbol(0), 2)),
            std::string("\x00\x01\x02\x01\x01"
                        "\x00\x01\x02\x01\x00\x00"
                        "\x04\x00",
                        13));
}

TEST(DimCodec, RejectsWhatIsNoDim) {
  const std::string whole = BytesOf(FloorDiv(Dim::OfSymbol(4) + 1, 3));
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(std::string_view(whole).substr(0, size));
    EXPECT_EQ(ReadDim(&in, 5), Dim(0)) << size;
    EXPECT_FALSE(in.ok()) << size;
  }
  ByteReader symbol_past_the_limit(whole);
  ReadDim(&symbol_past_the_limit, 4);
  EXPECT_FALSE(symbol_past_the_limit.ok());

  const std::string no_operation("\x00\x01\x02\x01\x05\x00\x00\x00\x00", 9);
  ByteReader unknown_operation(no_operation);
  ReadDim(&unknown_operation, 5);
  EXPECT_FALSE(unknown_operation.ok());

  std::string deep;
  for (int i = 0; i < 2 * kMaxDimDepth; ++i) {
    deep += std::string("\x00\x01\x02\x01\x01", 5);
  }
  deep += std::string(1000, '\0');
  ByteReader nested_too_deep(deep);
  ReadDim(&nested_too_deep, 5);
  EXPECT_FALSE(nested_too_deep.ok());
}

}  // namespace
}  // namespace encore
