#include "encore/opt/tensor/testing/instantiate.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"

namespace encore::opt {
namespace {

using Shapes = std::vector<Shape>;

// Attributes of a node, and the shapes of operands that make its result the
// one that is wanted.
struct Draw {
  Attributes attributes;
  Shapes operands;
  // Per operand and dim: the dim of the result that it is, or -1. Empty where
  // that does not say all.
  std::vector<Ints> sources = {};
  Shape result = {};
};

class Instantiator {
 public:
  Instantiator(const TextRule& rule, bool symbolic, uint64_t seed)
      : rule_(rule), random_(seed), g_("left", {.simplify = false}) {
    if (symbolic) symbols_ = {g_.Symbol("N", 1, 4), g_.Symbol("M", 1, 4)};
    if (symbolic) {  // every call says what they are
      g_.Input("extents", {DType::kBool, Shape(symbols_), ValueKind::kTensor});
    }
  }

  std::optional<Graph> Run(DType dtype) && {
    const bool images = std::ranges::any_of(rule_.terms, [](const auto& term) {
      return term.variable.empty() && term.op == Op::kConvolution;
    });
    Shape shape = RandomShape(images ? 3 + Below(2) : Below(4));
    // Channels that two groups share, and halves of which they do.
    if (images && Chance(50)) shape[1] = 4;
    std::vector<std::pair<std::string, Value>> outputs;
    for (const RuleSide& side : rule_.left) {
      const auto value = Make(side.term, dtype, shape);
      if (!value) return std::nullopt;
      outputs.emplace_back(StrCat("out", outputs.size()), *value);
    }
    auto graph = g_.Build(outputs);
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool Chance(int percent) { return Below(100) < percent; }

  Dim RandomExtent() {
    if (!symbols_.empty() && Chance(40)) return symbols_[Below(2)];
    constexpr int64_t kExtents[] = {1, 1, 2, 2, 3, 3, 5, 7};
    if (Chance(6)) return 0;
    return kExtents[Below(std::size(kExtents))];
  }
  Shape RandomShape(int64_t rank) {
    Shape shape;
    for (int64_t i = 0; i < rank; ++i) {
      shape.mutable_dims().push_back(RandomExtent());
    }
    return shape;
  }
  Ints RandomPermutation(int rank) {
    Ints axes(rank);
    for (int i = 0; i < rank; ++i) axes[i] = i;
    std::ranges::shuffle(axes, random_);
    return axes;
  }

  // The integer that the rule wants a variable to be.
  std::optional<int64_t> NumberOf(const std::string& variable) const {
    for (const RuleClause& clause : rule_.clauses) {
      if (clause.call.function == "is" &&
          clause.call.arguments[0].name == variable) {
        return clause.call.arguments[1].integer;
      }
    }
    return std::nullopt;
  }
  bool IsScalar(const RuleTerm& term) const {
    return std::ranges::any_of(rule_.clauses, [&](const RuleClause& clause) {
      return clause.call.function == "scalar" &&
             clause.call.arguments[0].name == term.variable;
    });
  }

  std::optional<Value> Leaf(const std::string& name, DType dtype,
                            const Shape& shape) {
    const auto it = variables_.find(name);
    if (it != variables_.end()) {
      const bool same =
          it->second.dtype() == dtype && it->second.shape() == shape;
      return same ? std::optional(it->second) : std::nullopt;
    }
    Value value;
    if (const auto number = NumberOf(name)) {
      value = g_.BroadcastTo(g_.Scalar(dtype, *number), shape);
    } else {
      value = g_.Input(name, {dtype, shape, ValueKind::kTensor});
    }
    variables_.emplace(name, value);
    return value;
  }

  std::optional<Value> Make(uint32_t number, DType dtype, const Shape& shape) {
    const RuleTerm& term = rule_.terms[number];
    if (!term.variable.empty()) return Leaf(term.variable, dtype, shape);
    const OpInfo& info = Info(term.ranged ? rule_.range.front() : term.op);
    const auto draw = AttributesOf(term, info, dtype, shape);
    if (!draw) return std::nullopt;
    const auto t = RowDType(info, dtype);
    if (!t) return std::nullopt;
    std::vector<Value> operands;
    for (size_t i = 0; i < term.operands.size(); ++i) {
      const TypeSlot& slot = info.signature().operand(static_cast<int>(i));
      const DType wanted = slot.kind == TypeSlot::Kind::kFixed ? slot.dtype
                           : slot.kind == TypeSlot::Kind::kIndex
                               ? (Chance(50) ? DType::kI64 : DType::kI32)
                               : *t;
      const auto operand = Make(term.operands[i], wanted, draw->operands[i]);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    const auto results = g_.Node(info.op, operands, draw->attributes);
    if (!g_.status().ok() || results[0].shape() != shape) return std::nullopt;
    return results[0];
  }

  // The row's T where a result of `dtype` is wanted.
  std::optional<DType> RowDType(const OpInfo& info, DType dtype) {
    const TypeSlot& slot = info.signature().results[0];
    DType t = dtype;
    if (slot.kind != TypeSlot::Kind::kT) {
      if (slot.kind == TypeSlot::Kind::kFixed && slot.dtype != dtype) {
        return std::nullopt;
      }
      t = info.dtypes[Below(static_cast<int64_t>(info.dtypes.size()))];
    }
    return info.allows(t) && !IsString(t) ? std::optional(t) : std::nullopt;
  }

  std::optional<Draw> AttributesOf(const RuleTerm& term, const OpInfo& info,
                                   DType dtype, const Shape& shape) {
    const auto* const name = std::get_if<std::string>(&term.attributes);
    if (name != nullptr && drawn_.contains(*name)) {
      const Draw& before = drawn_.at(*name);
      return before.result == shape && Chance(30) ? Other(info.op, before)
                                                  : Again(before, shape);
    }
    auto draw = NewDraw(term, info, dtype, shape);
    if (draw) draw->result = shape;
    if (draw && name != nullptr) drawn_.emplace(*name, *draw);
    return draw;
  }

  // The same attributes and result for other operands, where there are some.
  Draw Other(Op op, Draw draw) {
    if (op == Op::kReshape) return DrawReshape(draw.result);
    if (op == Op::kConvolution) return OtherConvolution(std::move(draw));
    if (op == Op::kBroadcast && draw.operands[0].rank() > 0) {
      draw.operands[0][static_cast<int>(Below(draw.operands[0].rank()))] = 1;
    }
    return draw;
  }

  // The same attributes for another result.
  static std::optional<Draw> Again(Draw draw, const Shape& shape) {
    if (draw.result == shape) return draw;
    if (draw.sources.empty() || draw.result.rank() != shape.rank()) {
      return std::nullopt;
    }
    for (size_t k = 0; k < draw.operands.size(); ++k) {
      for (int i = 0; i < draw.operands[k].rank(); ++i) {
        const int64_t source = draw.sources[k][i];
        if (source >= 0) {
          draw.operands[k][i] = shape[static_cast<int>(source)];
        }
      }
    }
    return draw;
  }

  std::optional<Draw> NewDraw(const RuleTerm& term, const OpInfo& info,
                              DType dtype, const Shape& shape) {
    switch (info.op) {
      case Op::kTranspose:
        return DrawTranspose(shape);
      case Op::kReshape:
        return DrawReshape(shape);
      case Op::kBroadcast:
        return DrawBroadcast(shape, IsScalar(rule_.terms[term.operands[0]]));
      case Op::kSlice:
        return DrawSlice(shape);
      case Op::kConcat:
        return DrawConcat(shape);
      case Op::kReduce:
        return DrawReduce(shape);
      case Op::kDotGeneral:
        return DrawProduct(shape);
      case Op::kConvolution:
        return DrawConvolution(shape);
      case Op::kGather:
        return DrawGather(shape);
      case Op::kCast:
        return Same(CastAttrs{.dtype = dtype}, 1, shape);
      case Op::kCompare:
        return Same(CompareAttrs{.direction = *EnumFromInt<Comparison>(
                                     static_cast<uint64_t>(Below(6)))},
                    2, shape);
      default:
        break;
    }
    if (!info.has(kElementwise) || info.attributes != AttrsIndex::kNone) {
      return std::nullopt;
    }
    return Same(NoneAttrs(), term.operands.size(), shape);
  }

  static Draw Same(Attributes attributes, size_t operands, const Shape& shape) {
    Ints axes(shape.rank());
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    return {.attributes = std::move(attributes),
            .operands = Shapes(operands, shape),
            .sources = std::vector<Ints>(operands, axes)};
  }

  Draw DrawTranspose(const Shape& shape) {
    const Ints p = RandomPermutation(shape.rank());
    Shape operand = shape;
    Ints source(shape.rank());
    for (int i = 0; i < shape.rank(); ++i) {
      operand[static_cast<int>(p[i])] = shape[i];
      source[p[i]] = i;
    }
    return {.attributes = TransposeAttrs{.permutation = p},
            .operands = {operand},
            .sources = {source}};
  }

  // Dims of extent 1 put in, or two dims of the operand for a constant one.
  Draw DrawReshape(const Shape& shape) {
    Shape operand;
    for (const Dim& dim : shape.dims()) {
      if (Chance(25)) operand.mutable_dims().push_back(1);
      if (dim.is_constant() && dim.constant() == 6 && Chance(50)) {
        operand.mutable_dims().push_back(2);
        operand.mutable_dims().push_back(3);
      } else {
        operand.mutable_dims().push_back(dim);
      }
    }
    if (operand.rank() >= 2 && Chance(40)) {
      const Dim last = operand.dims().back();
      operand.mutable_dims().pop_back();
      operand.mutable_dims().back() = operand.dims().back() * last;
    }
    return {.attributes = ReshapeAttrs{.shape = shape.dims()},
            .operands = {operand}};
  }

  Draw DrawBroadcast(const Shape& shape, bool scalar) {
    BroadcastAttrs attrs{.shape = shape.dims()};
    Shape operand;
    for (int i = 0; i < shape.rank(); ++i) {
      if (scalar || Chance(40)) continue;
      attrs.axes.push_back(i);
      operand.mutable_dims().push_back(Chance(10) ? Dim(1) : shape[i]);
    }
    return {.attributes = attrs, .operands = {operand}};
  }

  Draw DrawSlice(const Shape& shape) {
    SliceAttrs attrs;
    Shape operand;
    for (const Dim& dim : shape.dims()) {
      const bool one = !dim.is_constant() || dim == Dim(0) || Chance(60);
      const int64_t stride = one ? 1 : 1 + Below(3);
      const Dim start = Below(3);
      const Dim limit = one ? start + dim : start + (dim - 1) * stride + 1;
      attrs.starts.push_back(start);
      attrs.limits.push_back(limit);
      attrs.strides.push_back(stride);
      operand.mutable_dims().push_back(limit + Below(3));
    }
    return {.attributes = attrs, .operands = {operand}};
  }

  std::optional<Draw> DrawConcat(const Shape& shape) {
    if (shape.rank() == 0) return std::nullopt;
    const auto axis = static_cast<int>(Below(shape.rank()));
    if (!shape[axis].is_constant()) return std::nullopt;
    Draw draw = Same(AxisAttrs{.axis = axis}, 2, shape);
    const int64_t extent = shape[axis].constant();
    const int64_t first = Below(extent + 1);
    draw.operands[0][axis] = first;
    draw.operands[1][axis] = extent - first;
    draw.sources.clear();
    return draw;
  }

  Draw DrawReduce(const Shape& shape) {
    constexpr Combiner kCombiners[] = {Combiner::kSum, Combiner::kSum,
                                       Combiner::kMax, Combiner::kMin};
    ReduceAttrs attrs{.combiner = kCombiners[Below(4)]};
    Shape operand;
    Ints source;
    for (int i = 0; i <= shape.rank(); ++i) {
      if (Chance(45)) {
        attrs.axes.push_back(operand.rank());
        operand.mutable_dims().push_back(RandomExtent());
        source.push_back(-1);
      }
      if (i == shape.rank()) break;
      operand.mutable_dims().push_back(shape[i]);
      source.push_back(i);
    }
    return {.attributes = attrs, .operands = {operand}, .sources = {source}};
  }

  Draw DrawProduct(const Shape& shape) {
    const int rank = shape.rank();
    const auto batch = static_cast<int>(Chance(60) ? 0 : Below(rank + 1));
    const auto lhs_end = batch + static_cast<int>(Below(rank - batch + 1));
    const int64_t contracted = Chance(75) ? 1 : Below(3);
    Draw draw;
    DotGeneralAttrs attrs;
    std::vector<std::pair<int64_t, Dim>> summed;  // label, extent
    for (int64_t i = 0; i < contracted; ++i) {
      summed.emplace_back(rank + i, RandomExtent());
    }
    for (int side = 0; side < 2; ++side) {
      // Free dims keep their order; the others go anywhere between them.
      std::vector<int64_t> labels;
      for (int i = side == 0 ? batch : lhs_end;
           i < (side == 0 ? lhs_end : rank); ++i) {
        labels.push_back(i);
      }
      const auto insert = [&](int64_t label) {
        labels.insert(
            labels.begin() + Below(static_cast<int64_t>(labels.size()) + 1),
            label);
      };
      for (int i = 0; i < batch; ++i) insert(i);
      for (const auto& [label, extent] : summed) insert(label);
      Shape operand;
      Ints source;
      for (const int64_t label : labels) {
        const bool free = label < rank;
        operand.mutable_dims().push_back(free ? shape[static_cast<int>(label)]
                                              : summed[label - rank].second);
        source.push_back(free ? label : -1);
      }
      const auto axis_of = [&](int64_t label) {
        return std::ranges::find(labels, label) - labels.begin();
      };
      for (int i = 0; i < batch; ++i) {
        (side == 0 ? attrs.batch.lhs : attrs.batch.rhs).push_back(axis_of(i));
      }
      for (const auto& [label, extent] : summed) {
        (side == 0 ? attrs.contract.lhs : attrs.contract.rhs)
            .push_back(axis_of(label));
      }
      draw.operands.push_back(operand);
      draw.sources.push_back(source);
    }
    draw.attributes = attrs;
    return draw;
  }

  // Of points in one of three.
  std::optional<Draw> DrawConvolution(const Shape& shape) {
    if (shape.rank() < 3) return std::nullopt;
    const bool halves =
        shape[1].is_constant() && shape[1].constant() % 2 == 0 && Chance(40);
    ConvolutionAttrs attrs;
    attrs.feature_groups = halves ? 2 : 1;
    const int64_t channels = 1 + Below(2);
    Shape image({shape[0], Dim(channels * attrs.feature_groups)});
    Shape kernel({shape[1], Dim(channels)});
    Ints image_source = {0, -1}, kernel_source = {1, -1};
    const bool points = Chance(33);
    for (int i = 2; i < shape.rank(); ++i) {
      const bool strided =
          !points && shape[i].is_constant() && shape[i] != Dim(0) && Chance(20);
      const int64_t stride = strided ? 2 : 1;
      const int64_t dilation = points || Chance(80) ? 1 : 2;
      const int64_t taps = points ? 1 : 1 + Below(3);
      const int64_t span = (taps - 1) * dilation;
      attrs.strides.push_back(stride);
      attrs.lhs_dilation.push_back(1);
      attrs.rhs_dilation.push_back(dilation);
      attrs.padding_low.push_back(Below(span / 2 + 1));
      attrs.padding_high.push_back(Below(span / 2 + 1));
      image.mutable_dims().push_back((shape[i] - 1) * stride + 1 + span -
                                     attrs.padding_low.back() -
                                     attrs.padding_high.back());
      kernel.mutable_dims().push_back(taps);
      image_source.push_back(-1);
      kernel_source.push_back(-1);
    }
    return Draw{.attributes = attrs,
                .operands = {image, kernel},
                .sources = {image_source, kernel_source}};
  }

  // A stride passes over a point more of the image, or a tap less.
  Draw OtherConvolution(Draw draw) {
    const auto& attrs = draw.attributes.Get<ConvolutionAttrs>();
    Shape& image = draw.operands[0];
    Shape& kernel = draw.operands[1];
    for (int i = 2; i < image.rank(); ++i) {
      if (attrs.strides[i - 2] == 1 || attrs.rhs_dilation[i - 2] != 1) continue;
      if (kernel[i] != Dim(1) && Chance(50)) {
        kernel[i] = kernel[i] - 1;
      } else {
        image[i] = image[i] + 1;
      }
      break;
    }
    return draw;
  }

  // Slices along one axis at scalar indices.
  Draw DrawGather(const Shape& shape) {
    const int rank = shape.rank();
    const auto count = static_cast<int>(Below(std::min(rank, 2) + 1));
    const auto first = static_cast<int>(Below(rank - count + 1));
    GatherAttrs attrs;
    Shape operand, indices;
    for (int i = 0; i < rank; ++i) {
      if (i >= first && i < first + count) {
        indices.mutable_dims().push_back(shape[i]);
      } else {
        attrs.offset_dims.push_back(i);
        operand.mutable_dims().push_back(shape[i]);
      }
    }
    attrs.slice_sizes = operand.dims();
    const int64_t axis = Below(operand.rank() + 1);
    operand.mutable_dims().insert(operand.dims().begin() + axis,
                                  Dim(1 + Below(5)));
    attrs.slice_sizes.insert(attrs.slice_sizes.begin() + axis, Dim(1));
    attrs.collapsed_slice_dims = attrs.start_index_map = {axis};
    attrs.index_vector_dim = count;
    return {.attributes = attrs, .operands = {operand, indices}};
  }

  const TextRule& rule_;
  std::mt19937_64 random_;
  GraphBuilder g_;
  std::vector<Dim> symbols_;
  std::map<std::string, Value> variables_;
  std::map<std::string, Draw> drawn_;
};

}  // namespace

std::optional<Graph> Instantiate(const TextRule& rule, DType dtype,
                                 bool symbolic, uint64_t seed) {
  return Instantiator(rule, symbolic, seed).Run(dtype);
}

}  // namespace encore::opt
