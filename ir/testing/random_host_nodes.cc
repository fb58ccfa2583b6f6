#include "encore/ir/testing/random_host_nodes.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::internal {
namespace {

using Values = std::vector<Value>;

Values Optionals(RandomOperands& r, Op op, DType dtype, const Shape& shape) {
  // An optional of a tensor or a sequence, which it may have.
  const bool sequence = r.Chance(40);
  const bool present = op == Op::kOptionalGet || r.Chance(60);
  Values value;
  if (present) {
    value.push_back(sequence ? r.SequenceOf(dtype, 1 + r.Below(3), std::nullopt)
                             : r.Fresh(dtype, shape));
  }
  const Value optional =
      r.builder().Node(Op::kOptional, value, OptionalAttrs{dtype, sequence})[0];
  if (op == Op::kOptional) return {optional};
  if (op == Op::kOptionalHas) return {r.builder().Node1(op, {optional})};
  return {r.builder().Node1(
      op, {optional}, ElementAttrs{sequence ? Dims() : r.FoundOut(shape)})};
}

// An index into `limit` places, from either end.
Value IndexBelow(RandomOperands& r, int64_t limit) {
  return r.builder().Scalar(DType::kI64, r.Below(2 * limit) - limit);
}

Values Sequences(RandomOperands& r, Op op, DType dtype) {
  const int64_t count = 1 + r.Below(3);
  const Shape shape = r.RandomShape(op == Op::kSequenceConcat ? 1 : 0, 3);
  switch (op) {
    case Op::kSequence:
      return {r.SequenceOf(dtype, r.Below(4), std::nullopt)};
    case Op::kSequenceAt:
      return {r.builder().Node1(
          op, {r.SequenceOf(dtype, count, shape), IndexBelow(r, count)},
          ElementAttrs{r.FoundOut(shape)})};
    case Op::kSequenceInsert: {
      const Value index =
          r.builder().Scalar(DType::kI64, r.Below(2 * count + 1) - count);
      return {r.builder().Node1(op, {r.SequenceOf(dtype, count, std::nullopt),
                                     r.Fresh(dtype, shape), index})};
    }
    case Op::kSequenceErase:
      return {r.builder().Node1(op, {r.SequenceOf(dtype, count, std::nullopt),
                                     IndexBelow(r, count)})};
    case Op::kSequenceLength:
      return {r.builder().Node1(
          op, {r.SequenceOf(dtype, r.Below(4), std::nullopt)})};
    case Op::kSequenceConcat: {
      const bool stack = r.Chance(50);
      const int64_t length = stack && r.Chance(20) ? 0 : count;
      const int64_t axis = r.Below(shape.rank() + (stack ? 1 : 0));
      Shape joined = shape;
      if (stack) {
        joined.mutable_dims().insert(joined.mutable_dims().begin() + axis,
                                     length);
      } else {
        joined[static_cast<int>(axis)] =
            joined[static_cast<int>(axis)] * Dim(count);
      }
      return {r.builder().Node1(
          op, {r.SequenceOf(dtype, length, shape)},
          SequenceConcatAttrs{axis, stack, r.FoundOut(joined)})};
    }
    case Op::kSequenceSplit: {
      Shape whole = r.RandomShape(1, 3);
      const int64_t axis = r.Below(whole.rank());
      const bool squeeze = r.Chance(30);
      std::vector<int64_t> lengths;
      int64_t total = 0;
      for (int64_t i = 0; i < count; ++i) {
        lengths.push_back(squeeze ? 1 : r.Below(3));
        total += lengths.back();
      }
      whole[static_cast<int>(axis)] = total;
      return {r.builder().Node1(
          op,
          {r.Fresh(dtype, whole),
           r.builder().Constant(Literal::Vector<int64_t>(lengths))},
          SequenceSplitAttrs{axis, squeeze})};
    }
    default:
      break;
  }
  return Optionals(r, op, dtype, shape);
}

Values Strings(RandomOperands& r, Op op, DType dtype) {
  const Shape shape = r.RandomShape(0, 3, /*allow_zero=*/false);
  switch (op) {
    case Op::kTakeStrings: {
      const Value numbers = r.builder().Constant(
          Literal::FromValues<int64_t>({2, 2}, {4, 0, 1 + r.Below(3), 3}));
      return {
          r.builder().Node1(op, {numbers, r.Fresh(DType::kString, Shape({2})),
                                 r.Fresh(DType::kString, Shape({1, 3}))})};
    }
    case Op::kStringFormat:
      return {r.builder().Node1(op, {r.Fresh(dtype, shape)})};
    case Op::kStringParse: {
      std::vector<std::string> numbers;
      for (int i = 0; i < 4; ++i) numbers.push_back(StrCat(r.Below(8)));
      return {r.builder().Node1(
          op, {r.builder().Constant(Literal::Strings({2, 2}, numbers))},
          ElementTypeAttrs{dtype})};
    }
    case Op::kStringSplit:
      return r.builder().Node(
          op, Values{r.Fresh(DType::kString, shape)},
          StringSplitAttrs{"s", -1, r.FoundOut(Shape({2}))});
    case Op::kStringNormalize: {
      const Literal words = Literal::Strings({3}, {"one", "Two", "three"});
      return {
          r.builder().Node1(op, {r.builder().Constant(words)},
                            StringNormalizeAttrs{CaseChange(r.Below(3)), false,
                                                 Literal::Strings({1}, {"TWO"}),
                                                 r.FoundOut(Shape({2}))})};
    }
    case Op::kStringMatch:
      return {r.builder().Node1(op, {r.Fresh(DType::kString, shape)},
                                StringMatchAttrs{"s[0-4]+"})};
    default:
      break;
  }
  const Value x = r.Fresh(DType::kString, shape);
  return {r.builder().Node1(op, {x, r.Like(DType::kString, shape)})};
}

// Of a portable graymap of 2 rows and 3 columns.
Values Pixels(RandomOperands& r) {
  std::vector<uint8_t> file;
  for (const char c : std::string_view("P5 3 2 255 ")) {
    file.push_back(static_cast<uint8_t>(c));
  }
  for (int i = 0; i < 6; ++i) {
    file.push_back(static_cast<uint8_t>(r.Below(256)));
  }
  const auto bytes = Literal::Vector(std::span<const uint8_t>(file));
  return {r.builder().Node1(
      Op::kDecodeImage, {r.builder().Constant(bytes)},
      DecodeImageAttrs{PixelFormat(r.Below(3)), r.FoundOut(Shape({2, 3}))})};
}

}  // namespace

Values RandomHostNode(RandomOperands& r, Op op, DType dtype) {
  if (op == Op::kDecodeImage) return Pixels(r);
  return Info(op).allows(DType::kF32) && op != Op::kStringFormat &&
                 op != Op::kStringParse
             ? Sequences(r, op, dtype)
             : Strings(r, op, dtype);
}

}  // namespace encore::internal
