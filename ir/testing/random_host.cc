// Random nodes on strings, sequences and optionals.
#include <optional>

#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_generator.h"

namespace encore::internal {
namespace {

using Values = std::vector<Value>;

}  // namespace

Value RandomGenerator::SequenceOf(DType dtype, int64_t count,
                                  const std::optional<Shape>& shape) {
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    elements.push_back(shape ? Like(dtype, *shape)
                             : Fresh(dtype, RandomShape(0, 3)));
  }
  return g_.Node(Op::kSequence, elements, ElementTypeAttrs{dtype})[0];
}

Value RandomGenerator::IndexBelow(int64_t limit) {
  return g_.Scalar(DType::kI64, Below(2 * limit) - limit);
}

Dims RandomGenerator::FoundOut(const Shape& shape) {
  Dims dims = shape.dims();
  if (is_body_) return dims;
  for (Dim& dim : dims) {
    if (!Chance(30)) continue;
    dim = g_.Symbol(StrCat("size", g_.graph().symbols().size()), 0, 64,
                    /*at_run_time=*/true);
  }
  return dims;
}

Values RandomGenerator::Sequences(Op op, DType dtype) {
  const int64_t count = 1 + Below(3);
  const Shape shape = RandomShape(op == Op::kSequenceConcat ? 1 : 0, 3);
  switch (op) {
    case Op::kSequence:
      return {SequenceOf(dtype, Below(4), std::nullopt)};
    case Op::kSequenceAt:
      return {g_.Node1(op, {SequenceOf(dtype, count, shape), IndexBelow(count)},
                       ElementAttrs{FoundOut(shape)})};
    case Op::kSequenceInsert: {
      const Value index = g_.Scalar(DType::kI64, Below(2 * count + 1) - count);
      return {g_.Node1(op, {SequenceOf(dtype, count, std::nullopt),
                            Fresh(dtype, shape), index})};
    }
    case Op::kSequenceErase:
      return {g_.Node1(
          op, {SequenceOf(dtype, count, std::nullopt), IndexBelow(count)})};
    case Op::kSequenceLength:
      return {g_.Node1(op, {SequenceOf(dtype, Below(4), std::nullopt)})};
    case Op::kSequenceConcat: {
      const bool stack = Chance(50);
      const int64_t length = stack && Chance(20) ? 0 : count;
      const int64_t axis = Below(shape.rank() + (stack ? 1 : 0));
      Shape joined = shape;
      if (stack) {
        joined.mutable_dims().insert(joined.mutable_dims().begin() + axis,
                                     length);
      } else {
        joined[static_cast<int>(axis)] =
            joined[static_cast<int>(axis)] * Dim(count);
      }
      return {g_.Node1(op, {SequenceOf(dtype, length, shape)},
                       SequenceConcatAttrs{axis, stack, FoundOut(joined)})};
    }
    case Op::kSequenceSplit: {
      Shape whole = RandomShape(1, 3);
      const int64_t axis = Below(whole.rank());
      const bool squeeze = Chance(30);
      std::vector<int64_t> lengths;
      int64_t total = 0;
      for (int64_t i = 0; i < count; ++i) {
        lengths.push_back(squeeze ? 1 : Below(3));
        total += lengths.back();
      }
      whole[static_cast<int>(axis)] = total;
      return {g_.Node1(
          op,
          {Fresh(dtype, whole), g_.Constant(Literal::Vector<int64_t>(lengths))},
          SequenceSplitAttrs{axis, squeeze})};
    }
    default:
      break;
  }
  return Optionals(op, dtype, shape);
}

Values RandomGenerator::Optionals(Op op, DType dtype, const Shape& shape) {
  // An optional of a tensor or a sequence, which it may have.
  const bool sequence = Chance(40);
  const bool present = op == Op::kOptionalGet || Chance(60);
  Values value;
  if (present) {
    value.push_back(sequence ? SequenceOf(dtype, 1 + Below(3), std::nullopt)
                             : Fresh(dtype, shape));
  }
  const Value optional =
      g_.Node(Op::kOptional, value, OptionalAttrs{dtype, sequence})[0];
  if (op == Op::kOptional) return {optional};
  if (op == Op::kOptionalHas) return {g_.Node1(op, {optional})};
  return {g_.Node1(op, {optional},
                   ElementAttrs{sequence ? Dims() : FoundOut(shape)})};
}

Values RandomGenerator::Strings(Op op, DType dtype) {
  const Shape shape = RandomShape(0, 3, /*allow_zero=*/false);
  switch (op) {
    case Op::kTakeStrings: {
      const Value numbers = g_.Constant(
          Literal::FromValues<int64_t>({2, 2}, {4, 0, 1 + Below(3), 3}));
      return {g_.Node1(op, {numbers, Fresh(DType::kString, Shape({2})),
                            Fresh(DType::kString, Shape({1, 3}))})};
    }
    case Op::kStringFormat:
      return {g_.Node1(op, {Fresh(dtype, shape)})};
    case Op::kStringParse: {
      std::vector<std::string> numbers;
      for (int i = 0; i < 4; ++i) numbers.push_back(StrCat(Below(8)));
      return {g_.Node1(op, {g_.Constant(Literal::Strings({2, 2}, numbers))},
                       ElementTypeAttrs{dtype})};
    }
    case Op::kStringSplit:
      return g_.Node(op, Values{Fresh(DType::kString, shape)},
                     StringSplitAttrs{"s", -1, FoundOut(Shape({2}))});
    case Op::kStringNormalize: {
      const Literal words = Literal::Strings({3}, {"one", "Two", "three"});
      return {g_.Node1(op, {g_.Constant(words)},
                       StringNormalizeAttrs{CaseChange(Below(3)), false,
                                            Literal::Strings({1}, {"TWO"}),
                                            FoundOut(Shape({2}))})};
    }
    case Op::kStringMatch:
      return {g_.Node1(op, {Fresh(DType::kString, shape)},
                       StringMatchAttrs{"s[0-4]+"})};
    default:
      break;
  }
  const Value x = Fresh(DType::kString, shape);
  return {g_.Node1(op, {x, Like(DType::kString, shape)})};
}

}  // namespace encore::internal
