#include "encore/opt/tensor/check/forward_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/specialize.h"
#include "encore/ir/types/float_formats.h"

namespace encore::opt {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// What a function of the C library, and each addition of a sum, is off in f64,
// relative to what is added.
constexpr double kUnitOfDouble = 0x1p-53;
constexpr double kFunctionRoundings = 4;

using Errors = std::vector<double>;

double Sane(double error) {
  return std::isnan(error) ? kInfinity : std::max(error, 0.0);
}

bool IsExact(const Errors& errors) {
  return std::ranges::all_of(errors, [](double error) { return error == 0; });
}

Literal AsF64(const std::vector<int64_t>& dims, const Errors& values) {
  return Literal::FromValues<double>(dims, std::span<const double>(values));
}

Literal Magnitudes(const Literal& literal) {
  Errors values(literal.element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::abs(literal.AsDouble(static_cast<int64_t>(i)));
  }
  return AsF64(literal.dims(), values);
}

Errors ValuesOf(const Literal& literal) {
  Errors values(literal.element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = literal.AsDouble(static_cast<int64_t>(i));
  }
  return values;
}

// Of a rounding to `dtype` whose result is `value`.
double Rounding(DType dtype, double value) {
  if (!IsFloat(dtype)) return 0;
  const double unit = Epsilon(dtype) / 2;
  // Numbers near 0 are a constant distance apart; four times that, as products
  // of such bounds round to 0 in f64.
  const double least = std::ldexp(unit, 4 - FormatOf(dtype).bias);
  return unit * std::abs(value) + least;
}

// One node of a graph of constant sizes.
class NodeErrors {
 public:
  NodeErrors(const OpInfo& info, const Attributes& attributes,
             std::span<const Literal* const> values,
             std::span<const Errors* const> errors, const Literal& result)
      : info_(info),
        attributes_(attributes),
        values_(values),
        errors_(errors),
        result_(result),
        count_(result.element_count()) {}

  Errors Run() const {
    Errors errors = Propagated();
    for (int64_t i = 0; i < count_; ++i) {
      errors[i] = Sane(errors[i]);
      if (IsFloat(result_.dtype()) && !std::isfinite(result_.AsDouble(i))) {
        errors[i] = kInfinity;
      }
    }
    return errors;
  }

 private:
  Errors Propagated() const {
    if (info_.has(kMovement)) return Moved();
    if (info_.has(kContraction) && values_.size() == 2) return Contracted();
    if (CombinerOf().has_value()) return Reduced(*CombinerOf());
    if (info_.has(kElementwise) && info_.level == OpLevel::kPrimitive) {
      return Elementwise();
    }
    const Errors errors = WhollyExactOrNone();
    return values_.empty() ? OfNumbers() : Rounded(errors);
  }

  // A number with so many digits as there are stands for one that has more.
  Errors OfNumbers() const {
    Errors errors(count_);
    for (int64_t i = 0; i < count_ && IsFloat(result_.dtype()); ++i) {
      const double value = result_.AsDouble(i);
      const double digits =
          std::ldexp(1.0, FormatOf(result_.dtype()).mantissa_bits / 2);
      int exponent = 0;
      const double scaled = std::frexp(value, &exponent) * digits;
      if (scaled != std::trunc(scaled)) {
        errors[i] = Rounding(result_.dtype(), value);
      }
    }
    return errors;
  }

  // Of operators whose every result may depend on every element.
  Errors WhollyExactOrNone() const {
    const bool exact = std::ranges::all_of(
        errors_, [](const Errors* errors) { return IsExact(*errors); });
    return Errors(count_, exact ? 0 : kInfinity);
  }

  // The errors with those of a rounding that ends a computation in f64.
  Errors Rounded(Errors errors) const {
    for (int64_t i = 0; i < count_; ++i) {
      const double value = result_.AsDouble(i);
      if (!IsFloat(result_.dtype())) continue;
      errors[i] += Rounding(result_.dtype(), value) +
                   kFunctionRoundings * kUnitOfDouble * std::abs(value);
    }
    return errors;
  }

  // The same operator on other operands, in f64; without a bound where it
  // cannot be computed.
  Errors InF64(const std::vector<Literal>& operands,
               const Attributes& attributes) const {
    const auto results = EvaluateNode(info_.op, attributes, operands);
    if (!results.ok() || results->size() != 1 ||
        results->front().element_count() != count_) {
      return Errors(count_, kInfinity);
    }
    return ValuesOf(results->front());
  }
  Errors InF64(const std::vector<Literal>& operands) const {
    return InF64(operands, attributes_);
  }

  // Errors move as elements do; what is read for indices must be exact.
  Errors Moved() const {
    std::vector<Literal> operands;
    for (size_t k = 0; k < values_.size(); ++k) {
      const TypeSlot& slot = info_.signature().operand(static_cast<int>(k));
      if (slot.kind == TypeSlot::Kind::kT) {
        operands.push_back(AsF64(values_[k]->dims(), *errors_[k]));
      } else if (IsExact(*errors_[k])) {
        operands.push_back(*values_[k]);
      } else {
        return Errors(count_, kInfinity);
      }
    }
    return InF64(operands);
  }

  // |a|·eb + ea·(|b| + eb), and the additions: in f64, in some order.
  Errors Contracted() const {
    if (!IsFloat(result_.dtype())) return WhollyExactOrNone();
    const Literal a = Magnitudes(*values_[0]), b = Magnitudes(*values_[1]);
    const Literal ea = AsF64(a.dims(), *errors_[0]);
    const Literal eb = AsF64(b.dims(), *errors_[1]);
    Errors wide = ValuesOf(b);
    for (size_t i = 0; i < wide.size(); ++i) wide[i] += (*errors_[1])[i];
    const Errors first = InF64({a, eb});
    const Errors second = InF64({ea, AsF64(b.dims(), wide)});
    const Errors magnitude = InF64({a, b});
    const auto terms = static_cast<double>(a.element_count());
    Errors errors(count_);
    for (int64_t i = 0; i < count_; ++i) {
      errors[i] = first[i] + second[i] + terms * kUnitOfDouble * magnitude[i];
    }
    return Rounded(std::move(errors));
  }

  std::optional<Combiner> CombinerOf() const {
    if (const auto* r = attributes_.GetIf<ReduceAttrs>()) return r->combiner;
    if (const auto* r = attributes_.GetIf<CumulativeAttrs>()) {
      return r->combiner;
    }
    if (const auto* r = attributes_.GetIf<ReduceWindowAttrs>()) {
      return r->combiner;
    }
    return std::nullopt;
  }
  Attributes WithCombiner(Combiner combiner) const {
    Attributes attributes = attributes_;
    if (auto* r = attributes.GetIf<ReduceAttrs>()) r->combiner = combiner;
    if (auto* r = attributes.GetIf<CumulativeAttrs>()) r->combiner = combiner;
    if (auto* r = attributes.GetIf<ReduceWindowAttrs>()) r->combiner = combiner;
    return attributes;
  }

  Errors Reduced(Combiner combiner) const {
    if (!IsFloat(result_.dtype())) return WhollyExactOrNone();
    const Literal& x = *values_[0];
    const Literal error = AsF64(x.dims(), *errors_[0]);
    if (combiner == Combiner::kMax || combiner == Combiner::kMin) {
      return InF64({error}, WithCombiner(Combiner::kMax));
    }
    const auto terms = static_cast<double>(x.element_count());
    Errors errors = InF64({error}, WithCombiner(Combiner::kSum));
    if (combiner == Combiner::kProduct && !IsExact(*errors_[0])) {
      Errors wide = ValuesOf(Magnitudes(x));
      for (size_t i = 0; i < wide.size(); ++i) wide[i] += (*errors_[0])[i];
      const Errors more = InF64({AsF64(x.dims(), wide)});
      for (int64_t i = 0; i < count_; ++i) {
        errors[i] = more[i] - std::abs(result_.AsDouble(i));
      }
    }
    const Errors magnitude = InF64({Magnitudes(x)});
    for (int64_t i = 0; i < count_; ++i) {
      errors[i] += terms * kUnitOfDouble * magnitude[i];
    }
    return Rounded(std::move(errors));
  }

  // --- Elementwise.

  // Element i of operand k, which may be a scalar.
  double X(size_t k, int64_t i) const {
    return values_[k]->AsDouble(values_[k]->rank() == 0 ? 0 : i);
  }
  double E(size_t k, int64_t i) const {
    return (*errors_[k])[values_[k]->rank() == 0 ? 0 : i];
  }
  template <typename F>
  Errors Each(const F& f) const {
    Errors errors(count_);
    for (int64_t i = 0; i < count_; ++i) errors[i] = f(i);
    return errors;
  }
  bool AllExact(int64_t i) const {
    for (size_t k = 0; k < errors_.size(); ++k) {
      if (E(k, i) != 0) return false;
    }
    return true;
  }

  Errors Elementwise() const {
    switch (info_.op) {
      case Op::kNeg:
      case Op::kAbs:
        return Each([&](int64_t i) { return E(0, i); });
      case Op::kMax:
      case Op::kMin:
        return Each([&](int64_t i) { return std::max(E(0, i), E(1, i)); });
      case Op::kSelect:
        return Each([&](int64_t i) {
          if (E(0, i) != 0) return kInfinity;
          return X(0, i) != 0 ? E(1, i) : E(2, i);
        });
      case Op::kCompare:
        return Each([&](int64_t i) {
          const bool apart = std::abs(X(0, i) - X(1, i)) > E(0, i) + E(1, i);
          return apart || AllExact(i) ? 0.0 : kInfinity;
        });
      case Op::kCast:
        if (!IsFloat(result_.dtype())) return ExactOrNone();
        return Rounded(Each([&](int64_t i) { return E(0, i); }));
      default:
        break;
    }
    if (!IsFloat(result_.dtype())) return ExactOrNone();
    return Rounded(Arithmetic());
  }

  Errors ExactOrNone() const {
    return Each([&](int64_t i) { return AllExact(i) ? 0.0 : kInfinity; });
  }

  Errors Arithmetic() const {
    switch (info_.op) {
      case Op::kAdd:
      case Op::kSub:
        return Each([&](int64_t i) { return E(0, i) + E(1, i); });
      case Op::kMul:
        return Each([&](int64_t i) {
          return std::abs(X(0, i)) * E(1, i) + E(0, i) * std::abs(X(1, i)) +
                 E(0, i) * E(1, i);
        });
      case Op::kDiv:
        return Each([&](int64_t i) {
          const double y = std::abs(X(1, i));
          if (AllExact(i)) return 0.0;
          if (!(y > E(1, i))) return kInfinity;
          return E(0, i) / (y - E(1, i)) +
                 std::abs(X(0, i) / y) * (E(1, i) / (y - E(1, i)));
        });
      case Op::kReciprocal:
        return Each([&](int64_t i) {
          const double x = std::abs(X(0, i));
          if (E(0, i) == 0) return 0.0;
          return x > E(0, i) ? E(0, i) / (x * (x - E(0, i))) : kInfinity;
        });
      case Op::kSin:
      case Op::kCos:
        return Each([&](int64_t i) { return E(0, i); });
      case Op::kTan:
        return ExactOrNone();
      default:
        return values_.size() == 1 ? BetweenEnds() : ExactOrNone();
    }
  }

  // Of a function that is monotone, or convex: it changes most at an end.
  Errors BetweenEnds() const {
    Errors low(count_), middle(count_), high(count_);
    for (int64_t i = 0; i < count_; ++i) {
      middle[i] = X(0, i);
      low[i] = middle[i] - E(0, i);
      high[i] = middle[i] + E(0, i);
    }
    const auto& dims = result_.dims();
    low = InF64({AsF64(dims, low)});
    middle = InF64({AsF64(dims, middle)});
    high = InF64({AsF64(dims, high)});
    return Each([&](int64_t i) {
      if (E(0, i) == 0) return 0.0;
      const double down = std::abs(low[i] - middle[i]);
      const double up = std::abs(high[i] - middle[i]);
      return std::isnan(down) || std::isnan(up) ? kInfinity
                                                : std::max(down, up);
    });
  }

  const OpInfo& info_;
  const Attributes& attributes_;
  const std::span<const Literal* const> values_;
  const std::span<const Errors* const> errors_;
  const Literal& result_;
  const int64_t count_;
};

// The graph with the sizes that the arguments have.
StatusOr<Graph> AtSizes(const Graph& graph,
                        std::span<const Literal> arguments) {
  SymbolBinding binding(graph.symbols());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Graph::Argument& argument = graph.arguments()[i];
    ENCORE_RETURN_IF_ERROR(binding.Bind(
        argument.name, graph.shape(argument.value), arguments[i].dims()));
  }
  return Specialize(graph, binding.replacements());
}

// Of a graph of primitives with constant sizes.
StatusOr<std::vector<BoundedValue>> BoundsOfPrimitives(
    const Graph& graph, std::span<const Literal> arguments) {
  std::vector<BoundedValue> values(graph.value_count());
  EvaluateOptions options;
  options.on_node = [&](NodeId node, std::span<const Literal> results) {
    std::vector<const Literal*> operands;
    std::vector<const Errors*> errors;
    for (const ValueId operand : graph.operands(node)) {
      operands.push_back(&values[operand.value()].value);
      errors.push_back(&values[operand.value()].error);
    }

    for (size_t i = 0; i < results.size(); ++i) {
      Errors error = NodeErrors(graph.info(node), graph.attributes(node),
                                operands, errors, results[i])
                         .Run();
      const uint32_t id = graph.result(node, static_cast<int>(i)).value();
      values[id] = {.value = results[i], .error = std::move(error)};
    }
    return OkStatus();
  };
  ENCORE_RETURN_IF_ERROR(Evaluate(graph, arguments, options).status());
  std::vector<BoundedValue> outputs;
  for (const Graph::Output& output : graph.outputs()) {
    outputs.push_back(values[output.value.value()]);
  }
  return outputs;
}

}  // namespace

StatusOr<std::vector<BoundedValue>> EvaluateWithBounds(
    const Graph& graph, std::span<const Literal> arguments) {
  ENCORE_ASSIGN_OR_RETURN(const Graph at_sizes, AtSizes(graph, arguments));
  ENCORE_ASSIGN_OR_RETURN(const Graph primitives,
                          DecomposeAll(at_sizes, {.simplify = false}));
  ENCORE_ASSIGN_OR_RETURN(std::vector<BoundedValue> outputs,
                          BoundsOfPrimitives(primitives, arguments));
  ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> values,
                          Evaluate(graph, arguments));
  // A composite is computed by its definition, not by its decomposition, whose
  // distance to it both can be seen.
  for (size_t k = 0; k < outputs.size(); ++k) {
    BoundedValue& output = outputs[k];
    for (int64_t i = 0; i < values[k].element_count(); ++i) {
      const double own = values[k].AsDouble(i);
      const double decomposed = output.value.AsDouble(i);
      if (own == decomposed) continue;
      output.error[i] = Sane(output.error[i] + std::abs(own - decomposed));
    }
    output.value = std::move(values[k]);
  }
  return outputs;
}

}  // namespace encore::opt
