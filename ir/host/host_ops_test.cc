#include "encore/ir/host/host_ops.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

Literal Floats(std::vector<int64_t> dims, std::vector<float> values) {
  return Literal::FromValues<float>(std::move(dims),
                                    std::span<const float>(values));
}

Literal Index(int64_t i) { return Literal::Scalar<int64_t>(i); }

Literal SequenceOf(std::vector<Literal> elements) {
  return Literal::Sequence(DType::kF32, std::move(elements));
}

Literal Apply(Op op, const Attributes& attributes,
              std::vector<Literal> operands) {
  auto results = ApplyHostOp(op, attributes, std::move(operands));
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0] : Literal();
}

std::string Failure(Op op, const Attributes& attributes,
                    std::vector<Literal> operands) {
  const auto results = ApplyHostOp(op, attributes, std::move(operands));
  EXPECT_EQ(results.status().code(), StatusCode::kInvalidArgument);
  return StrCat(results.status());
}

TEST(HostOps, IndicesCountFromBothEnds) {
  const Literal a = Floats({1}, {1}), b = Floats({2}, {2, 3}),
                c = Floats({}, {4});
  const Literal both = SequenceOf({a, b});
  EXPECT_EQ(Apply(Op::kSequenceAt, ElementAttrs{}, {both, Index(-1)}), b);
  EXPECT_EQ(Apply(Op::kSequenceInsert, NoneAttrs(), {both, c, Index(2)}),
            SequenceOf({a, b, c}));
  EXPECT_EQ(Apply(Op::kSequenceInsert, NoneAttrs(), {both, c, Index(-1)}),
            SequenceOf({a, c, b}));
  EXPECT_EQ(Apply(Op::kSequenceErase, NoneAttrs(), {both, Index(-2)}),
            SequenceOf({b}));
  EXPECT_EQ(both, SequenceOf({a, b}));  // shared, so it was not changed
  for (const int64_t index : {INT64_MIN, int64_t{-3}, int64_t{2}, INT64_MAX}) {
    EXPECT_NE(Failure(Op::kSequenceAt, ElementAttrs{}, {both, Index(index)})
                  .find("of a sequence of 2"),
              std::string::npos);
    Failure(Op::kSequenceErase, NoneAttrs(), {both, Index(index)});
  }
  Failure(Op::kSequenceInsert, NoneAttrs(), {both, c, Index(3)});
}

// What nobody else has is moved: a sequence grows by one in constant time.
TEST(HostOps, WhatIsNotSharedIsMoved) {
  Literal sequence = SequenceOf({Floats({1}, {1}), Floats({1}, {2})});
  const Literal* first = sequence.elements().data();
  std::vector<Literal> operands;
  operands.push_back(std::move(sequence));
  operands.push_back(Index(1));
  auto erased =
      ApplyHostOp(Op::kSequenceErase, NoneAttrs(), std::move(operands));
  ASSERT_TRUE(erased.ok());
  EXPECT_EQ((*erased)[0].elements().data(), first);
}

TEST(HostOps, SplitAndConcatAreInverse) {
  const Literal x = Floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Literal lengths =
      Literal::Vector<int64_t>(std::vector<int64_t>{1, 0, 3});
  const Literal pieces =
      Apply(Op::kSequenceSplit, SequenceSplitAttrs{1, false}, {x, lengths});
  EXPECT_EQ(pieces, SequenceOf({Floats({2, 1}, {0, 4}), Floats({2, 0}, {}),
                                Floats({2, 3}, {1, 2, 3, 5, 6, 7})}));
  EXPECT_EQ(
      Apply(Op::kSequenceConcat, SequenceConcatAttrs{1, false, {}}, {pieces}),
      x);
  const Literal ones = Literal::Vector<int64_t>(std::vector<int64_t>{1, 1});
  const Literal rows =
      Apply(Op::kSequenceSplit, SequenceSplitAttrs{0, true}, {x, ones});
  EXPECT_EQ(
      Apply(Op::kSequenceConcat, SequenceConcatAttrs{0, true, {}}, {rows}), x);
  Failure(Op::kSequenceSplit, SequenceSplitAttrs{1, false}, {x, ones});
  for (const std::vector<int64_t>& wrong :
       std::vector<std::vector<int64_t>>{{}, {5}, {-1, 5}, {INT64_MAX, 1}}) {
    Failure(Op::kSequenceSplit, SequenceSplitAttrs{1, false},
            {x, Literal::Vector<int64_t>(wrong)});
  }
  Failure(Op::kSequenceConcat, SequenceConcatAttrs{0, true, {}}, {pieces});
  Failure(Op::kSequenceConcat, SequenceConcatAttrs{3, false, {}}, {pieces});
  Failure(Op::kSequenceConcat, SequenceConcatAttrs{}, {SequenceOf({})});
}

// A dim that no item decides stays as the attributes give it.
TEST(HostOps, AStackOfNothing) {
  const Dim found = Dim::OfSymbol(0);
  EXPECT_EQ(Apply(Op::kSequenceConcat,
                  SequenceConcatAttrs{1, true, {2, found, found, 3}},
                  {SequenceOf({})}),
            Literal(DType::kF32, {2, 0, 0, 3}));
  Failure(Op::kSequenceConcat, SequenceConcatAttrs{0, false, {found, 3}},
          {SequenceOf({})});
}

// Packed elements and strings are joined element by element.
TEST(HostOps, EveryDTypeIsJoined) {
  for (const DType dtype : AllDTypes()) {
    const Literal one(dtype, {3}), joined(dtype, {2, 3});
    EXPECT_EQ(Apply(Op::kSequenceConcat, SequenceConcatAttrs{0, true, {}},
                    {Literal::Sequence(dtype, {one, one})}),
              joined)
        << dtype;
  }
}

TEST(HostOps, Optionals) {
  const Literal x = Floats({1}, {1});
  const Literal some = Apply(Op::kOptional, OptionalAttrs{}, {x});
  EXPECT_EQ(some, Literal::Optional(x));
  EXPECT_EQ(Apply(Op::kOptionalGet, ElementAttrs{}, {some}), x);
  const Literal none =
      Apply(Op::kOptional, OptionalAttrs{DType::kF32, true}, {});
  EXPECT_EQ(none, Literal::Absent(DType::kF32, ValueKind::kOptionalSequence));
  EXPECT_EQ(Apply(Op::kOptionalHas, NoneAttrs(), {none}),
            Literal::Scalar(false));
  Failure(Op::kOptionalGet, ElementAttrs{}, {none});
}

// ONNX's reference evaluator: np.char.split(x) and np.char.split(x, sep, n).
TEST(HostOps, StringsAreSplit) {
  const Literal x = Literal::Strings({2}, {"  a b  c ", ""});
  const auto space =
      ApplyHostOp(Op::kStringSplit, StringSplitAttrs{"", -1, {3}}, {x});
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ((*space)[0], Literal::Strings({2, 3}, {"a", "b", "c", "", "", ""}));
  EXPECT_EQ((*space)[1], Literal::Vector<int64_t>(std::vector<int64_t>{3, 0}));
  EXPECT_EQ(Apply(Op::kStringSplit, StringSplitAttrs{"", 1, {2}}, {x}),
            Literal::Strings({2, 2}, {"a", "b  c ", "", ""}));
  EXPECT_EQ(Apply(Op::kStringSplit, StringSplitAttrs{"--", -1, {3}},
                  {Literal::Strings({2}, {"a----b", "c-"})}),
            Literal::Strings({2, 3}, {"a", "", "b", "c-", "", ""}));
  EXPECT_EQ(Apply(Op::kStringSplit, StringSplitAttrs{"-", -1, {0}},
                  {Literal::Strings({0}, {})}),
            Literal::Strings({0, 0}, {}));
}

TEST(HostOps, NumbersAndTheirTexts) {
  const auto text = [](Literal literal) {
    return Apply(Op::kStringFormat, NoneAttrs(), {std::move(literal)})
        .strings()[0];
  };
  EXPECT_EQ(text(Literal::Scalar(0.1f)), "0.1");
  EXPECT_EQ(text(Literal::Scalar(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(text(Literal::Scalar(NAN)), "NaN");
  EXPECT_EQ(text(Literal::Scalar(-INFINITY)), "-INF");
  EXPECT_EQ(text(Literal::Scalar(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(text(Literal::Scalar(INT64_MIN)), "-9223372036854775808");
  const auto number = [](DType dtype, std::string text) {
    return Apply(Op::kStringParse, ElementTypeAttrs{dtype},
                 {Literal::Strings({}, {std::move(text)})});
  };
  EXPECT_EQ(number(DType::kU64, "18446744073709551615"),
            Literal::Scalar(UINT64_MAX));
  EXPECT_EQ(number(DType::kI32, "-12"), Literal::Scalar(int32_t{-12}));
  EXPECT_EQ(number(DType::kF32, "+INF"), Literal::Scalar(HUGE_VALF));
  EXPECT_EQ(number(DType::kF64, "1e999"), Literal::Scalar(HUGE_VAL));
  EXPECT_EQ(number(DType::kF64, "1e-999"), Literal::Scalar(0.0));
  EXPECT_EQ(number(DType::kI16, "2.75"), Literal::Scalar(int16_t{2}));
  for (const std::string bad : {"", " 1", "1 ", "0x10", "+-1", "--1", "one"}) {
    EXPECT_NE(Failure(Op::kStringParse, ElementTypeAttrs{DType::kF32},
                      {Literal::Strings({1}, {bad})})
                  .find(Quote(bad)),
              std::string::npos);
  }
}

TEST(HostOps, StopWordsAndCases) {
  const Literal x = Literal::Strings({1, 3}, {"The", "the", "Caf\xc3\x89"});
  StringNormalizeAttrs attrs{
      CaseChange::kLower, true, Literal::Strings({1}, {"the"}), {2}};
  EXPECT_EQ(Apply(Op::kStringNormalize, attrs, {x}),
            Literal::Strings({1, 2}, {"the", "caf\xc3\x89"}));
  attrs.case_sensitive = false;
  EXPECT_EQ(Apply(Op::kStringNormalize, attrs, {x}),
            Literal::Strings({1, 1}, {"caf\xc3\x89"}));
  attrs.stop_words = Literal::Strings({3}, {"THE", "caf\xc3\x89", "x"});
  EXPECT_EQ(
      Apply(Op::kStringNormalize, attrs, {Literal::Strings({1}, {"the"})}),
      Literal::Strings({1}, {""}));
  Failure(Op::kStringNormalize, attrs, {Literal::Strings({2, 1}, {"a", "b"})});
}

TEST(HostOps, StringsByNumber) {
  const Literal a = Literal::Strings({2}, {"a", "b"});
  const Literal c = Literal::Strings({}, {"c"}), none(DType::kString, {0});
  const Literal numbers = Literal::FromValues<int64_t>({1, 3}, {2, 0, 1});
  EXPECT_EQ(Apply(Op::kTakeStrings, NoneAttrs(), {numbers, a, none, c}),
            Literal::Strings({1, 3}, {"c", "a", "b"}));
  Failure(Op::kTakeStrings, NoneAttrs(), {numbers, a});
  Failure(Op::kTakeStrings, NoneAttrs(), {numbers});
  Failure(Op::kTakeStrings, NoneAttrs(), {Index(-1), a});
}

TEST(HostOps, APatternThatIsNone) {
  EXPECT_NE(Failure(Op::kStringMatch, StringMatchAttrs{"("},
                    {Literal::Strings({}, {"x"})})
                .find("pattern"),
            std::string::npos);
}

Literal Bytes(std::string_view text) {
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  return Literal::Vector(std::span<const uint8_t>(bytes));
}

TEST(HostOps, ImagesAreDecoded) {
  const Literal file = Bytes("P3 2 1 255 9 8 7 60 50 40");
  EXPECT_EQ(Apply(Op::kDecodeImage, DecodeImageAttrs{}, {file}),
            Literal::FromValues<uint8_t>({1, 2, 3}, {9, 8, 7, 60, 50, 40}));
  EXPECT_EQ(
      Apply(Op::kDecodeImage, DecodeImageAttrs{PixelFormat::kBgr}, {file}),
      Literal::FromValues<uint8_t>({1, 2, 3}, {7, 8, 9, 40, 50, 60}));
  EXPECT_NE(Failure(Op::kDecodeImage, DecodeImageAttrs{}, {Bytes("GIF89a")})
                .find("decode_image: the first bytes"),
            std::string::npos);
  EXPECT_NE(Failure(Op::kDecodeImage, DecodeImageAttrs{}, {Bytes("P6 2 2 9 ")})
                .find("decode_image: PNM: the file is truncated"),
            std::string::npos);
}

// A kept graph has no pixels that depend on what decoded them.
TEST(HostOps, ImagesAreNotDecodedWhenAGraphIsMade) {
  GraphBuilder g("images");
  const Value pixels =
      g.Node1(Op::kDecodeImage, {g.Constant(Bytes("P3 1 1 255 9 8 7"))},
              DecodeImageAttrs{PixelFormat::kRgb, {1, 1}});
  ASSERT_TRUE(g.status().ok()) << g.status();
  EXPECT_EQ(pixels.constant(), nullptr);
}

}  // namespace
}  // namespace encore
