#include "encore/ir/types/dim_codec.h"

namespace encore {
namespace {

class Reader {
 public:
  Reader(ByteReader* in, uint32_t symbols) : in_(*in), symbols_(symbols) {}

  Dim Read(int depth) {
    Dim sum = in_.Signed();
    const size_t terms = in_.Count(2);
    if (depth > kMaxDimDepth || terms > kMaxDimTerms) in_.Fail();
    for (size_t i = 0; i < terms && in_.ok(); ++i) {
      Dim product = in_.Signed();
      const size_t factors = in_.Count();
      if (factors > kMaxDimTerms) in_.Fail();
      for (size_t j = 0; j < factors && in_.ok(); ++j) {
        product = product * ReadFactor(depth);
      }
      sum = sum + product;
    }
    if (!sum.valid()) in_.Fail();
    return in_.ok() ? sum : Dim();
  }

 private:
  Dim ReadFactor(int depth) {
    const auto op = static_cast<Dim::Op>(in_.Byte());
    if (op == Dim::Op::kSymbol) {
      const uint64_t symbol = in_.Varint();
      if (symbol >= symbols_) in_.Fail();
      return in_.ok() ? Dim::OfSymbol(static_cast<uint32_t>(symbol)) : Dim();
    }
    const Dim a = Read(depth + 1), b = Read(depth + 1);
    switch (op) {
      case Dim::Op::kFloorDiv:
        return FloorDiv(a, b);
      case Dim::Op::kMod:
        return Mod(a, b);
      case Dim::Op::kMax:
        return Max(a, b);
      case Dim::Op::kMin:
        return Min(a, b);
      default:
        in_.Fail();
        return Dim();
    }
  }

  ByteReader& in_;
  const uint32_t symbols_;
};

}  // namespace

void WriteDim(const Dim& dim, ByteWriter* out) {
  out->Signed(dim.constant_term());
  out->Varint(dim.terms().size());
  for (const Dim::Term& term : dim.terms()) {
    out->Signed(term.coefficient);
    out->Varint(term.factors.size());
    for (const Dim::Factor& factor : term.factors) {
      out->Byte(static_cast<uint8_t>(factor.op));
      if (factor.op == Dim::Op::kSymbol) {
        out->Varint(factor.symbol);
      } else {  // at most kMaxDimDepth deep
        WriteDim(*factor.a, out);
        WriteDim(*factor.b, out);
      }
    }
  }
}

Dim ReadDim(ByteReader* in, uint32_t symbols) {
  return Reader(in, symbols).Read(0);
}

}  // namespace encore
