#include "encore/ir/testing/random_operands.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::internal {
namespace {

// Every dtype that is drawn when none is named.
std::span<const DType> TensorDTypes() {
  static const std::vector<DType> dtypes = [] {
    std::vector<DType> all;
    for (const DType dtype : AllDTypes()) {
      if (!IsString(dtype)) all.push_back(dtype);
    }
    return all;
  }();
  return dtypes;
}

}  // namespace

void RandomOperands::AddSymbols() {
  symbols_ = {g_.Symbol("N", 1, 6), g_.Symbol("M", 1, 6)};
  // Every call says what they are, whatever the other arguments.
  g_.Input("extents", {DType::kBool, Shape(symbols_), ValueKind::kTensor});
}

Dim RandomOperands::RandomExtent(bool allow_zero) {
  if (!symbols_.empty() && Chance(35)) return symbols_[Below(2)];
  constexpr int64_t kExtents[] = {1, 1, 2, 3, 3, 5, 7, 11};
  if (allow_zero && Chance(4)) return 0;
  return kExtents[Below(std::size(kExtents))];
}

Shape RandomOperands::RandomShape(int min_rank, int max_rank, bool allow_zero) {
  const int rank =
      min_rank + static_cast<int>(Below(std::max(max_rank - min_rank, 0) + 1));
  std::vector<Dim> dims;
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    Dim dim = RandomExtent(allow_zero);
    const int64_t most = dim.is_constant() ? dim.constant() : 6;
    if (count * most > options_.max_elements) dim = 1;
    count *= dim.is_constant() ? std::max<int64_t>(dim.constant(), 1) : 6;
    dims.push_back(std::move(dim));
  }
  return Shape(std::move(dims));
}

Value RandomOperands::Fresh(DType dtype, const Shape& shape) {
  if (!is_body_) {
    const std::string name = StrCat("x", next_input_++);
    const TensorType type{dtype, shape, ValueKind::kTensor};
    const bool parameter = !IsString(dtype) && Chance(20);
    return parameter ? g_.Parameter(name, type) : g_.Input(name, type);
  }
  if (shape.is_constant()) {
    return g_.Constant(RandomLiteral(dtype, shape.ConstantDims(), random_()));
  }
  return g_.BroadcastTo(g_.Constant(RandomLiteral(dtype, {}, random_())),
                        shape);
}

Value RandomOperands::Like(DType dtype, const Shape& shape, bool exact) {
  if (!(exact && IsFloat(dtype)) && Chance(60)) {
    for (int tries = 0; tries < 4 && !pool_.empty(); ++tries) {
      const Value value = pool_[Below(pool_.size())];
      if (value.dtype() == dtype && value.shape() == shape) return value;
    }
  }
  return Fresh(dtype, shape);
}

Value RandomOperands::Any(DType dtype, bool exact, int min_rank) {
  if (!(exact && IsFloat(dtype)) && Chance(70)) {
    for (int tries = 0; tries < 8 && !pool_.empty(); ++tries) {
      const Value value = pool_[Below(pool_.size())];
      if (value.dtype() == dtype && value.rank() >= min_rank &&
          value.rank() <= 5) {
        return value;
      }
    }
  }
  return Fresh(dtype, RandomShape(min_rank, std::max(min_rank, 4)));
}

Value RandomOperands::NonEmpty(DType dtype, bool exact, int min_rank) {
  const Value value = Any(dtype, exact, min_rank);
  // Extents that are not provably positive count as empty.
  const auto positive = [&](const Dim& dim) {
    return dim.LowerBound(g_.graph().symbols()) > 0;
  };
  if (std::ranges::all_of(value.shape().dims(), positive)) return value;
  return Fresh(dtype, RandomShape(min_rank, std::max(min_rank, 4), false));
}

Value RandomOperands::SameType(Value fallback) {
  for (int tries = 0; tries < 6; ++tries) {
    const Value value = pool_[Below(pool_.size())];
    if (value.type() == fallback.type()) return value;
  }
  return fallback;
}

Ints RandomOperands::Axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (Chance(50)) axes.push_back(i);
  }
  return axes;
}

Ints RandomOperands::Permutation(int rank) {
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int i = rank - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[Below(i + 1)]);
  }
  return permutation;
}

Ints RandomOperands::Each(int count, int64_t least, int64_t most) {
  Ints list(count);
  for (int64_t& entry : list) entry = least + Below(most - least + 1);
  return list;
}

Combiner RandomOperands::RandomCombiner(DType dtype) {
  if (dtype == DType::kBool) return static_cast<Combiner>(2 + Below(4));
  // A product of computed floats grows too fast.
  if (IsFloat(dtype)) {
    constexpr Combiner kSmooth[] = {Combiner::kSum, Combiner::kMax,
                                    Combiner::kMin};
    return kSmooth[Below(3)];
  }
  return static_cast<Combiner>(Below(6));
}

DType RandomOperands::RandomDType(std::span<const DType> allowed) {
  const std::span<const DType> wanted =
      options_.dtypes.empty() ? TensorDTypes() : std::span(options_.dtypes);
  std::vector<DType> both;
  for (const DType dtype : wanted) {
    if (std::ranges::find(allowed, dtype) != allowed.end()) {
      both.push_back(dtype);
    }
  }
  if (!both.empty()) return both[Below(both.size())];
  return allowed[Below(allowed.size())];
}

void RandomOperands::AddToPool(Value value) {
  const std::span<const Symbol> symbols = g_.graph().symbols();
  bool plain = value.type().kind == ValueKind::kTensor;
  for (const Dim& dim : value.shape().dims()) {
    const auto symbol = dim.symbol();
    plain = plain && !(symbol && symbols[*symbol].at_run_time);
  }
  (plain ? pool_ : others_).push_back(value);
}

Value RandomOperands::SequenceOf(DType dtype, int64_t count,
                                 const std::optional<Shape>& shape) {
  std::vector<Value> elements;
  for (int64_t i = 0; i < count; ++i) {
    elements.push_back(shape ? Like(dtype, *shape)
                             : Fresh(dtype, RandomShape(0, 3)));
  }
  return g_.Node(Op::kSequence, elements, ElementTypeAttrs{dtype})[0];
}

Dims RandomOperands::FoundOut(const Shape& shape) {
  Dims dims = shape.dims();
  if (is_body_) return dims;
  for (Dim& dim : dims) {
    if (!Chance(30)) continue;
    dim = g_.Symbol(StrCat("size", g_.graph().symbols().size()), 0, 64,
                    /*at_run_time=*/true);
  }
  return dims;
}

}  // namespace encore::internal
