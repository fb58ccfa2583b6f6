#include "encore/opt/tensor/check/instantiate.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/check/attribute_draws.h"

namespace encore::opt {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kI32,
                             DType::kF64, DType::kF64, DType::kBool,
                             DType::kI8,  DType::kU8,  DType::kI64,
                             DType::kU64, DType::kF16, DType::kBF16};
// That some dtypes and no others have reciprocals of.
constexpr double kNumbers[] = {1, 3, -0.7, 6, 1.4142135623730951, 1e-30, 0};
// Attribute functions that look at numbers.
constexpr std::string_view kOfNumbers[] = {
    "at_least",   "positive",       "product_of_numbers",
    "reciprocal", "sum_of_numbers", "total",
    "value_of"};
// How often attributes are drawn that are to be given ones.
constexpr int kDrawsOfGivenAttributes = 16;

class Instantiator {
 public:
  Instantiator(const TextRule& rule, Choices* choices)
      : rule_(rule),
        choices_(*choices),
        g_("left", {.simplify = false}),
        draws_(choices, Symbols()) {}

  std::optional<Graph> Run() && {
    const DType dtype = GivesBooleans()
                            ? DType::kBool
                            : kDTypes[choices_.Below(std::size(kDTypes))];
    const bool images = std::ranges::any_of(rule_.terms, [](const auto& term) {
      return term.variable.empty() && term.op == Op::kConvolution;
    });
    Shape shape = draws_.RandomShape(!images         ? choices_.Below(4)
                                     : IsReduction() ? 2
                                                     : 3 + choices_.Below(2));
    // Channels that two groups share, and halves of which they do.
    if (images && choices_.Chance(50)) shape[1] = 4;
    // Sides share variables: which one says what these are is drawn, but where
    // a variable is another side.
    const size_t sides = rule_.left.size();
    const size_t first = sides > 1 && !SidesHaveSides()
                             ? choices_.Below(static_cast<int64_t>(sides))
                             : 0;
    std::vector<std::pair<std::string, Value>> outputs(sides);
    for (size_t i = 0; i < sides; ++i) {
      const size_t k = (first + i) % sides;
      const uint32_t term = rule_.left[k].term;
      const auto value =
          i > 0 && IsKnown(term)
              ? FromKnown(term)
              : Make(term, dtype, i > 0 ? OfAnotherSide(term, shape) : shape);
      if (!value) return std::nullopt;
      const std::string& name = rule_.left[k].name;
      if (!name.empty()) variables_.emplace(name, *value);
      outputs[k] = {StrCat("out", k), *value};
    }
    auto graph = g_.Build(outputs);
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

 private:
  // Whether a side is a comparison or the like, whatever that is of.
  bool GivesBooleans() const {
    return std::ranges::any_of(rule_.left, [this](const RuleSide& side) {
      const RuleTerm& term = rule_.terms[side.term];
      const Op op =
          term.ranged && !rule_.range.empty() ? rule_.range.front() : term.op;
      return term.variable.empty() &&
             Info(op).signature_text.ends_with("-> bool");
    });
  }

  bool IsReduction() const {
    const RuleTerm& first = rule_.terms[rule_.left.front().term];
    return first.variable.empty() && first.op == Op::kReduce;
  }

  std::vector<Dim> Symbols() {
    if (!choices_.Chance(25)) return {};
    std::vector<Dim> symbols = {g_.Symbol("N", 1, 4), g_.Symbol("M", 1, 4)};
    g_.Input(std::string(kExtentsArgument),
             {DType::kBool, Shape(symbols), ValueKind::kTensor});
    return symbols;
  }

  // The number that the rule wants a variable to be; where it looks at what
  // number that is, any.
  std::optional<double> NumberOf(const std::string& variable) {
    for (const RuleClause& clause : rule_.clauses) {
      const auto& arguments = clause.call.arguments;
      if (std::ranges::find(kOfNumbers, clause.call.function) !=
              std::end(kOfNumbers) &&
          std::ranges::find(arguments, variable, &RuleArgument::name) !=
              arguments.end()) {
        return kNumbers[choices_.Below(std::size(kNumbers))];
      }
      if (clause.call.function == "is" && clause.call.arguments.size() == 2 &&
          clause.call.arguments[0].name == variable) {
        return clause.call.arguments[1].value();
      }
    }
    return std::nullopt;
  }
  bool IsScalar(const RuleTerm& term) const {
    return std::ranges::any_of(rule_.clauses, [&](const RuleClause& clause) {
      return clause.call.function == "scalar" &&
             !clause.call.arguments.empty() &&
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
    if (!g_.status().ok()) return std::nullopt;
    variables_.emplace(name, value);
    return value;
  }

  // A shape for a side after the first: that one's, but where it reduces what
  // is there already, which may be along other axes.
  Shape OfAnotherSide(uint32_t number, const Shape& shape) {
    const RuleTerm& term = rule_.terms[number];
    const auto reduced = term.variable.empty() && term.op == Op::kReduce
                             ? ShapeOf(term.operands[0])
                             : std::nullopt;
    if (!reduced || choices_.Chance(50)) return shape;
    Shape left;
    for (int i = 0; i < reduced->rank(); ++i) {
      if (choices_.Chance(50)) left.mutable_dims().push_back((*reduced)[i]);
    }
    return left;
  }

  // Where it follows from what is there already.
  std::optional<Shape> ShapeOf(uint32_t number) const {
    const RuleTerm* term = &rule_.terms[number];
    while (term->variable.empty() && Info(term->op).has(kElementwise)) {
      term = &rule_.terms[term->operands[0]];
    }
    const auto known = variables_.find(term->variable);
    if (known == variables_.end()) return std::nullopt;
    return known->second.shape();
  }

  // Whether a left side has another in it; that right sides have says nothing.
  bool SidesHaveSides() const {
    std::vector<uint32_t> work;
    for (const RuleSide& side : rule_.left) work.push_back(side.term);
    while (!work.empty()) {
      const RuleTerm& term = rule_.terms[work.back()];
      work.pop_back();
      work.insert(work.end(), term.operands.begin(), term.operands.end());
      if (!term.variable.empty() &&
          std::ranges::any_of(rule_.left, [&term](const RuleSide& side) {
            return side.name == term.variable;
          })) {
        return true;
      }
    }
    return false;
  }

  // Whether other sides have said what its variables are.
  bool IsKnown(uint32_t number) const {
    const RuleTerm& term = rule_.terms[number];
    if (!term.variable.empty()) return variables_.contains(term.variable);
    const auto* const name = std::get_if<std::string>(&term.attributes);
    return (name == nullptr || drawn_.contains(*name)) &&
           std::ranges::all_of(term.operands, [this](uint32_t operand) {
             return IsKnown(operand);
           });
  }

  // Such a term, of whatever type it has.
  std::optional<Value> FromKnown(uint32_t number) {
    const RuleTerm& term = rule_.terms[number];
    if (!term.variable.empty()) return variables_.at(term.variable);
    std::vector<Value> operands;
    for (const uint32_t operand : term.operands) {
      const auto value = FromKnown(operand);
      if (!value) return std::nullopt;
      operands.push_back(*value);
    }
    const OpInfo& info = Info(term.ranged ? rule_.range.front() : term.op);
    Attributes attributes = DefaultAttributes(info.attributes);
    if (const auto* name = std::get_if<std::string>(&term.attributes)) {
      attributes = drawn_.at(*name).attributes;
    } else if (const auto* given = std::get_if<Attributes>(&term.attributes)) {
      attributes = *given;
    }
    const auto results = g_.Node(info.op, operands, attributes);
    if (!g_.status().ok()) return std::nullopt;
    return results[0];
  }

  // Terms nest as deep as the parser lets them.
  std::optional<Value> Make(uint32_t number, DType dtype, const Shape& shape) {
    const RuleTerm& term = rule_.terms[number];
    if (!term.variable.empty()) return Leaf(term.variable, dtype, shape);
    const OpInfo& info = Info(term.ranged ? rule_.range.front() : term.op);
    const auto draw = AttributesOf(term, info, dtype, shape);
    if (!draw || draw->operands.size() < term.operands.size()) {
      return std::nullopt;
    }
    const auto t = RowDType(term, info, dtype);
    if (!t) return std::nullopt;
    std::vector<Value> operands;
    for (size_t i = 0; i < term.operands.size(); ++i) {
      const TypeSlot& slot = info.signature().operand(static_cast<int>(i));
      const DType wanted =
          slot.kind == TypeSlot::Kind::kFixed ? slot.dtype
          : slot.kind == TypeSlot::Kind::kIndex
              ? (choices_.Chance(50) ? DType::kI64 : DType::kI32)
              : *t;
      const auto operand = Make(term.operands[i], wanted, draw->operands[i]);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    const auto results = g_.Node(info.op, operands, draw->attributes);
    if (!g_.status().ok() || results[0].shape() != shape) return std::nullopt;
    return results[0];
  }

  // Of what is moved to be an operand of the term, where that is known.
  std::optional<DType> KnownDType(const RuleTerm& term) const {
    for (uint32_t operand : term.operands) {
      const RuleTerm* moved = &rule_.terms[operand];
      while (moved->variable.empty() && Info(moved->op).has(kMovement)) {
        moved = &rule_.terms[moved->operands[0]];
      }
      const auto known = variables_.find(moved->variable);
      if (known != variables_.end()) return known->second.dtype();
    }
    return std::nullopt;
  }

  // The row's T where a result of `dtype` is wanted.
  std::optional<DType> RowDType(const RuleTerm& term, const OpInfo& info,
                                DType dtype) {
    const TypeSlot& slot = info.signature().results[0];
    DType t = dtype;
    if (slot.kind != TypeSlot::Kind::kT) {
      if (slot.kind == TypeSlot::Kind::kFixed && slot.dtype != dtype) {
        return std::nullopt;
      }
      t = info.dtypes[choices_.Below(static_cast<int64_t>(info.dtypes.size()))];
      t = KnownDType(term).value_or(t);
    }
    return info.allows(t) && !IsString(t) ? std::optional(t) : std::nullopt;
  }

  std::optional<AttributeDraw> AttributesOf(const RuleTerm& term,
                                            const OpInfo& info, DType dtype,
                                            const Shape& shape) {
    const auto* const name = std::get_if<std::string>(&term.attributes);
    if (name != nullptr && drawn_.contains(*name)) {
      auto again = AttributeDraws::Again(drawn_.at(*name), shape);
      if (!again || !choices_.Chance(30)) return again;
      return draws_.Other(info.op, *std::move(again));
    }
    auto draw = NewDraw(term, {.op = info.op,
                               .operands = term.operands.size(),
                               .dtype = dtype,
                               .shape = shape});
    if (draw) draw->result = shape;
    if (draw && name != nullptr) drawn_.emplace(*name, *draw);
    return draw;
  }

  // The slice that goes on where one ends that the rule joins it with.
  std::optional<AttributeDraw> Continued(const std::string& name,
                                         const Shape& shape) {
    for (const RuleClause& clause : rule_.clauses) {
      const auto& arguments = clause.call.arguments;
      if (clause.call.function != "join_channel_slices" ||
          arguments[1].name != name || !drawn_.contains(arguments[0].name)) {
        continue;
      }
      AttributeDraw draw = drawn_.at(arguments[0].name);
      auto& slice = draw.attributes.Get<SliceAttrs>();
      if (slice.starts.size() < 2 || shape.rank() < 2) continue;
      slice.starts[1] = slice.limits[1];
      slice.limits[1] = slice.starts[1] + shape[1];
      return draw;
    }
    return std::nullopt;
  }

  std::optional<AttributeDraw> NewDraw(const RuleTerm& term,
                                       WantedNode wanted) {
    const auto* const own = std::get_if<std::string>(&term.attributes);
    if (wanted.op == Op::kSlice && own != nullptr) {
      if (auto draw = Continued(*own, wanted.shape)) return draw;
    }
    wanted.of_scalar = wanted.op == Op::kBroadcast &&
                       IsScalar(rule_.terms[term.operands.front()]);
    const auto* const given = std::get_if<Attributes>(&term.attributes);
    // Elementwise, and so whatever they are.
    if (given != nullptr && Info(wanted.op).has(kElementwise)) {
      auto draw = draws_.New(wanted);
      if (draw) draw->attributes = *given;
      return draw;
    }
    if (wanted.op == Op::kReduce) {
      if (const auto operand = ShapeOf(term.operands[0])) {
        return draws_.NewReduction(*operand, wanted.shape);
      }
    }
    const auto repeated =
        wanted.op == Op::kBroadcast ? ShapeOf(term.operands[0]) : std::nullopt;
    auto draw = draws_.New(wanted);
    for (int i = 0; i < kDrawsOfGivenAttributes; ++i) {
      if (!draw || ((given == nullptr || draw->attributes == *given) &&
                    (!repeated || draw->operands[0] == *repeated))) {
        break;
      }
      draw = draws_.New(wanted);
    }
    return draw;
  }

  const TextRule& rule_;
  Choices& choices_;
  GraphBuilder g_;
  AttributeDraws draws_;
  std::map<std::string, Value> variables_;
  std::map<std::string, AttributeDraw> drawn_;
};

}  // namespace

std::optional<Graph> Instantiate(const TextRule& rule, Choices* choices) {
  return Instantiator(rule, choices).Run();
}

}  // namespace encore::opt
