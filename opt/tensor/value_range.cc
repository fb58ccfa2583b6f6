#include "encore/opt/tensor/value_range.h"

#include <algorithm>
#include <limits>

#include "encore/ir/types/literal.h"

namespace encore::opt {
namespace {

using Wide = __int128;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// Constants of more elements are not looked at.
constexpr int64_t kMaxElements = 1 << 16;

ValueRange Hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
}

class Node {
 public:
  Node(Op op, const Attributes& attributes,
       std::span<const std::optional<ValueRange>> ranges,
       std::span<const TensorType* const> operands, const TensorType& result,
       const ValueRange& all, std::span<const Symbol> symbols)
      : op_(op),
        attributes_(attributes),
        ranges_(ranges),
        operands_(operands),
        result_(result),
        all_(all),
        symbols_(symbols) {}

  ValueRange Range() const {
    switch (op_) {
      case Op::kConstant:
        return OfConstant(attributes_.Get<ConstantAttrs>().value);
      case Op::kIota: {
        const auto& iota = attributes_.Get<IotaAttrs>();
        return UpTo(iota.shape[iota.axis]);
      }
      case Op::kDimValues:
        return OfDims(attributes_.Get<DimValuesAttrs>().dims);
      case Op::kArgReduce: {
        const int64_t axis = attributes_.Get<ArgReduceAttrs>().axis;
        return UpTo(operands_[0]->shape[static_cast<int>(axis)]);
      }
      case Op::kReduce:
        return OfReduction();
      default:
        break;
    }
    const size_t first = op_ == Op::kSelect ? 1 : 0;
    for (size_t i = first; i < ValueOperands(); ++i) {
      if (!ranges_[i]) return all_;
    }
    return Info(op_).has(kMovement) || op_ == Op::kSelect ? OfOperands(first)
                                                          : OfArithmetic();
  }

 private:
  // Operands whose elements come out again, or are computed with; others say
  // where they are.
  size_t ValueOperands() const {
    switch (op_) {
      case Op::kDynamicSlice:
      case Op::kGather:
        return 1;
      case Op::kDynamicUpdateSlice:
        return 2;
      default:
        return ranges_.size();
    }
  }

  ValueRange OfOperands(size_t first) const {
    if (first >= ValueOperands()) return all_;
    ValueRange hull = *ranges_[first];
    for (size_t i = first + 1; i < ValueOperands(); ++i) {
      hull = Hull(hull, *ranges_[i]);
    }
    return hull;
  }

  // From 0 to below the extent.
  ValueRange UpTo(const Dim& extent) const {
    return Fit(0, std::max<int64_t>(extent.UpperBound(symbols_), 1) - 1);
  }

  ValueRange OfDims(const Dims& dims) const {
    if (dims.empty()) return all_;
    ValueRange hull = {kMost, std::numeric_limits<int64_t>::min()};
    for (const Dim& dim : dims) {
      hull = Hull(hull, {dim.LowerBound(symbols_), dim.UpperBound(symbols_)});
    }
    return hull;
  }

  ValueRange OfConstant(const Literal& literal) const {
    const int64_t count = literal.element_count();
    if (count < 1 || count > kMaxElements) return all_;
    ValueRange hull = {literal.AsInt(0), literal.AsInt(0)};
    for (int64_t i = 1; i < count; ++i) {
      hull = Hull(hull, {literal.AsInt(i), literal.AsInt(i)});
    }
    return hull;
  }

  // Of no elements a reduction gives what its combiner starts with.
  ValueRange OfReduction() const {
    const auto& reduce = attributes_.Get<ReduceAttrs>();
    const bool selects =
        reduce.combiner == Combiner::kMax || reduce.combiner == Combiner::kMin;
    if (!ranges_[0] || !selects) return all_;
    for (const int64_t axis : reduce.axes) {
      const Dim& extent = operands_[0]->shape[static_cast<int>(axis)];
      if (extent.LowerBound(symbols_) < 1) return all_;
    }
    return *ranges_[0];
  }

  ValueRange OfArithmetic() const {
    if (ranges_.empty()) return all_;
    const ValueRange x = *ranges_[0];
    if (ranges_.size() == 1) return OfOne(x);
    if (ranges_.size() != 2) return all_;
    const ValueRange y = *ranges_[1];
    switch (op_) {
      case Op::kAdd:
        return Fit(Wide{x.lower} + y.lower, Wide{x.upper} + y.upper);
      case Op::kSub:
        return Fit(Wide{x.lower} - y.upper, Wide{x.upper} - y.lower);
      case Op::kMul: {
        const auto [least, most] =
            std::minmax({Wide{x.lower} * y.lower, Wide{x.lower} * y.upper,
                         Wide{x.upper} * y.lower, Wide{x.upper} * y.upper});
        return Fit(least, most);
      }
      case Op::kMax:
        return {std::max(x.lower, y.lower), std::max(x.upper, y.upper)};
      case Op::kMin:
        return {std::min(x.lower, y.lower), std::min(x.upper, y.upper)};
      case Op::kCompare:
        return OfComparison(x, y);
      default:
        return all_;
    }
  }

  ValueRange OfOne(const ValueRange& x) const {
    switch (op_) {
      case Op::kNeg:
        return Fit(-Wide{x.upper}, -Wide{x.lower});
      case Op::kAbs: {
        const Wide most = std::max(-Wide{x.lower}, Wide{x.upper});
        const Wide least = std::max({Wide{x.lower}, -Wide{x.upper}, Wide{0}});
        return Fit(least, most);
      }
      case Op::kSign:
        return {x.lower > 0    ? 1
                : x.lower == 0 ? 0
                               : -1,
                x.upper < 0    ? -1
                : x.upper == 0 ? 0
                               : 1};
      case Op::kCast:  // of an integer: floats have no range
        if (result_.dtype == DType::kBool) {
          return {x.lower > 0 || x.upper < 0 ? 1 : 0,
                  x.lower == 0 && x.upper == 0 ? 0 : 1};
        }
        return Fit(x.lower, x.upper);
      default:
        return all_;
    }
  }

  ValueRange OfComparison(const ValueRange& x, const ValueRange& y) const {
    const bool below = x.upper<y.lower, above = x.lower> y.upper;
    const bool at_most = x.upper <= y.lower, at_least = x.lower >= y.upper;
    const bool equal = at_most && at_least;  // each is one number
    const auto known = [this](bool holds, bool fails) {
      return holds ? ValueRange{1, 1} : fails ? ValueRange{0, 0} : all_;
    };
    switch (attributes_.Get<CompareAttrs>().direction) {
      case Comparison::kEq:
        return known(equal, below || above);
      case Comparison::kNe:
        return known(below || above, equal);
      case Comparison::kLt:
        return known(below, at_least);
      case Comparison::kLe:
        return known(at_most, above);
      case Comparison::kGt:
        return known(above, at_most);
      case Comparison::kGe:
        return known(at_least, below);
    }
    return all_;
  }

  ValueRange Fit(Wide lower, Wide upper) const {
    if (lower < all_.lower || upper > all_.upper) return all_;
    return {static_cast<int64_t>(lower), static_cast<int64_t>(upper)};
  }

  const Op op_;
  const Attributes& attributes_;
  const std::span<const std::optional<ValueRange>> ranges_;
  const std::span<const TensorType* const> operands_;
  const TensorType& result_;
  const ValueRange all_;
  const std::span<const Symbol> symbols_;
};

}  // namespace

std::optional<ValueRange> RangeOf(DType dtype) {
  if (dtype == DType::kBool) return ValueRange{0, 1};
  if (!IsInteger(dtype)) return std::nullopt;
  const int bits = BitWidth(dtype);
  if (!IsSigned(dtype)) {
    if (bits >= 64) return std::nullopt;
    return ValueRange{0, (int64_t{1} << bits) - 1};
  }
  const int64_t most = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  return ValueRange{-most - 1, most};
}

std::optional<ValueRange> RangeOf(
    Op op, const Attributes& attributes,
    std::span<const std::optional<ValueRange>> ranges,
    std::span<const TensorType* const> operands, const TensorType& result,
    std::span<const Symbol> symbols) {
  const auto all = RangeOf(result.dtype);
  if (!all || result.kind != ValueKind::kTensor) return std::nullopt;
  return Node(op, attributes, ranges, operands, result, *all, symbols).Range();
}

}  // namespace encore::opt
