#include "encore/ir/types/dim_symbols.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<uint32_t> SymbolsOf(const Dim& dim) {
  std::vector<uint32_t> symbols;
  ForEachSymbol(dim, [&](uint32_t symbol) { symbols.push_back(symbol); });
  return symbols;
}

TEST(DimSymbols, ConstantsAndInvalidDimsHaveNone) {
  EXPECT_THAT(SymbolsOf(Dim(7)), IsEmpty());
  EXPECT_THAT(SymbolsOf(Dim::Invalid()), IsEmpty());
  EXPECT_THAT(SymbolsOf(Dim::OfSymbol(3) - Dim::OfSymbol(3)), IsEmpty());
}

TEST(DimSymbols, EachOccurrenceIsVisited) {
  const Dim a = Dim::OfSymbol(2), b = Dim::OfSymbol(5);
  EXPECT_THAT(SymbolsOf(a * a * 3 + 1), ElementsAre(2, 2));
  EXPECT_THAT(SymbolsOf(a * b + b * 2), UnorderedElementsAre(2, 5, 5));
}

TEST(DimSymbols, OperandsOfOperationsAreVisited) {
  const Dim a = Dim::OfSymbol(0), b = Dim::OfSymbol(1), c = Dim::OfSymbol(2);
  EXPECT_THAT(SymbolsOf(FloorDiv(a + 1, b)), ElementsAre(0, 1));
  EXPECT_THAT(SymbolsOf(Max(Mod(c, 4), FloorDiv(b, 3)) * a),
              UnorderedElementsAre(0, 1, 2));
}

TEST(DimSymbols, EqualDimsGiveEqualSequences) {
  const Dim a = Dim::OfSymbol(0), b = Dim::OfSymbol(1);
  EXPECT_EQ(SymbolsOf(Min(a * b, b + 1) + a), SymbolsOf(a + Min(1 + b, b * a)));
}

TEST(DimSymbols, AgreesWithTheSymbolLimit) {
  const Dim dim = FloorDiv(Dim::OfSymbol(9) + 3, Max(Dim::OfSymbol(4), 1));
  uint32_t limit = 0;
  for (const uint32_t symbol : SymbolsOf(dim)) {
    limit = std::max(limit, symbol + 1);
  }
  EXPECT_EQ(limit, dim.SymbolLimit());
}

}  // namespace
}  // namespace encore
