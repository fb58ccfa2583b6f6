#include "encore/ir/support/sha256.h"

#include "gtest/gtest.h"

namespace encore {
namespace {

// FIPS 180-4's examples (csrc.nist.gov, SHA256.pdf).
TEST(Sha256, StandardExamples) {
  EXPECT_EQ(Sha256Of("abc").ToHex(),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Of("").ToHex(),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, PiecesAreTheWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish(), Sha256Of("abc"));
}

TEST(Sha256, HexRoundTrip) {
  const Digest digest = Sha256Of("abc");
  EXPECT_EQ(Digest::FromHex(digest.ToHex()), digest);
  EXPECT_FALSE(Digest::FromHex("ab"));
  EXPECT_FALSE(Digest::FromHex(std::string(64, 'x')));
}

}  // namespace
}  // namespace encore
