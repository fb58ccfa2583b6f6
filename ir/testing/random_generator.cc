#include "encore/ir/testing/random_generator.h"

#include <algorithm>
#include <numeric>

#include "encore/ir/support/check.h"
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

void RandomGenerator::AddSymbols() {
  symbols_ = {g_.Symbol("N", 1, 6), g_.Symbol("M", 1, 6)};
  // Every call says what they are, whatever the other arguments.
  g_.Input("extents", {DType::kBool, Shape(symbols_), ValueKind::kTensor});
}

Dim RandomGenerator::RandomExtent(bool allow_zero) {
  if (!symbols_.empty() && Chance(35)) return symbols_[Below(2)];
  constexpr int64_t kExtents[] = {1, 1, 2, 3, 3, 5, 7, 11};
  if (allow_zero && Chance(4)) return 0;
  return kExtents[Below(std::size(kExtents))];
}

Shape RandomGenerator::RandomShape(int min_rank, int max_rank,
                                   bool allow_zero) {
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

Value RandomGenerator::Fresh(DType dtype, const Shape& shape) {
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

Value RandomGenerator::Like(DType dtype, const Shape& shape, bool exact) {
  if (!(exact && IsFloat(dtype)) && Chance(60)) {
    for (int tries = 0; tries < 4 && !pool_.empty(); ++tries) {
      const Value value = pool_[Below(pool_.size())];
      if (value.dtype() == dtype && value.shape() == shape) return value;
    }
  }
  return Fresh(dtype, shape);
}

Value RandomGenerator::Any(DType dtype, bool exact, int min_rank) {
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

Value RandomGenerator::NonEmpty(DType dtype, bool exact, int min_rank) {
  const Value value = Any(dtype, exact, min_rank);
  // Extents that are not provably positive count as empty.
  const auto positive = [&](const Dim& dim) {
    return dim.LowerBound(g_.graph().symbols()) > 0;
  };
  if (std::ranges::all_of(value.shape().dims(), positive)) return value;
  return Fresh(dtype, RandomShape(min_rank, std::max(min_rank, 4), false));
}

Value RandomGenerator::SameType(Value fallback) {
  for (int tries = 0; tries < 6; ++tries) {
    const Value value = pool_[Below(pool_.size())];
    if (value.type() == fallback.type()) return value;
  }
  return fallback;
}

Ints RandomGenerator::Axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (Chance(50)) axes.push_back(i);
  }
  return axes;
}

Ints RandomGenerator::Permutation(int rank) {
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int i = rank - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[Below(i + 1)]);
  }
  return permutation;
}

Ints RandomGenerator::Each(int count, int64_t least, int64_t most) {
  Ints list(count);
  for (int64_t& entry : list) entry = least + Below(most - least + 1);
  return list;
}

Combiner RandomGenerator::RandomCombiner(DType dtype) {
  if (dtype == DType::kBool) return static_cast<Combiner>(2 + Below(4));
  // A product of computed floats grows too fast.
  if (IsFloat(dtype)) {
    constexpr Combiner kSmooth[] = {Combiner::kSum, Combiner::kMax,
                                    Combiner::kMin};
    return kSmooth[Below(3)];
  }
  return static_cast<Combiner>(Below(6));
}

DType RandomGenerator::RandomDType(std::span<const DType> allowed) {
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

RandomGenerator::Values RandomGenerator::Dispatch(Op op, DType dtype) {
  const OpInfo& info = Info(op);
  if (info.has(kBodies)) return Bodies(op, dtype);
  if (info.has(kNonFlatValues)) {
    return Info(op).allows(DType::kF32) && op != Op::kStringFormat &&
                   op != Op::kStringParse
               ? Sequences(op, dtype)
               : Strings(op, dtype);
  }
  switch (op) {
    case Op::kConstant:
    case Op::kIota:
    case Op::kDimValues:
    case Op::kCountUp:
    case Op::kRandom:
      return Source(op, dtype);
    case Op::kAssertion:
      return Guarded(dtype);
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kGather:
    case Op::kScatter:
      return Indexing(op, dtype);
    case Op::kMaxPool:
    case Op::kAvgPool:
    case Op::kReduceWindow:
      return Pool(op, dtype);
    case Op::kArgSort:
    case Op::kCumulative:
      return Reduction(op, dtype);
    default:
      break;
  }
  if (info.has(kMovement)) return Movement(op, dtype);
  if (info.has(kReduction)) return Reduction(op, dtype);
  if (info.has(kContraction)) return Contraction(op, dtype);
  if (info.has(kNormalization)) return Normalization(op, dtype);
  if (info.level == OpLevel::kComposite) return Activation(op, dtype);
  return Elementwise(op, dtype);
}

bool RandomGenerator::AddNode(Op op, DType dtype) {
  if (op == Op::kInput || op == Op::kParameter || op == Op::kCustom ||
      !Info(op).allows(dtype)) {
    return false;
  }
  const Values results = Dispatch(op, dtype);
  ENCORE_CHECK_OK(g_.status());
  for (const Value& result : results) AddToPool(result);
  return true;
}

void RandomGenerator::AddToPool(Value value) {
  const std::span<const Symbol> symbols = g_.graph().symbols();
  bool plain = value.type().kind == ValueKind::kTensor;
  for (const Dim& dim : value.shape().dims()) {
    const auto symbol = dim.symbol();
    plain = plain && !(symbol && symbols[*symbol].at_run_time);
  }
  (plain ? pool_ : others_).push_back(value);
}

void RandomGenerator::AddNodes(int count) {
  while (count > 0) {
    const Op op = options_.ops.empty()
                      ? AllOps()[Below(AllOps().size())].op
                      : options_.ops[Below(options_.ops.size())];
    // Bodies in bodies only sometimes.
    if (is_body_ && Info(op).has(kBodies) && Chance(80)) continue;
    if (AddNode(op, RandomDType(Info(op).dtypes))) --count;
  }
}

GraphBuilder::Body RandomGenerator::BodyOf(size_t first,
                                           std::span<const Value> like,
                                           uint64_t seed) {
  // Outputs are of the types of inputs first, first + 1, …
  const size_t count = like.size();
  return [this, first, count, seed](GraphBuilder& body,
                                    std::span<const Value> inputs) {
    RandomGenerator inner(body, seed, options_, /*is_body=*/true);
    for (const Value& input : inputs) inner.AddToPool(input);
    inner.AddNodes(2);
    Values outputs;
    for (size_t i = 0; i < count; ++i) {
      outputs.push_back(inner.SameType(inputs[first + i]));
    }
    return outputs;
  };
}

}  // namespace encore::internal
