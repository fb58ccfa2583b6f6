#include "encore/opt/tensor/find/expressions.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <unordered_map>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"

namespace encore::opt {
namespace {

// In each set one row or column of every input is larger than the others, so
// that a maximum is everywhere once.
constexpr int kDataSets = static_cast<int>(kFindExtents.a + kFindExtents.b);
constexpr int64_t kLarger = int64_t{1} << 22;
constexpr int kDegree = 3;
constexpr int64_t kInputBits = 20;

struct Values {
  Literal sets[kDataSets];
};

Digest FingerprintOf(const Values& values) {
  std::string text;
  for (const Literal& set : values.sets) {
    StrAppend(&text, set.Fingerprint(), " ");
  }
  return Sha256Of(text);
}

// Whether an element is in what is larger in a set.
bool IsLarger(const std::vector<int64_t>& dims, int64_t element, int set) {
  if (dims.size() == 1) return element == set % dims[0];
  const int64_t row = element / dims[1], column = element % dims[1];
  return set < dims[0] ? row == set : column == set - dims[0];
}

bool IsZero(const Values& values) {
  const Literal& first = values.sets[0];
  for (int64_t i = 0; i < first.element_count(); ++i) {
    if (first.AsInt(i) != 0) return false;
  }
  return true;
}

}  // namespace

class Expressions::Enumerator {
 public:
  explicit Enumerator(const FindOptions& options)
      : options_(options),
        operators_(FindOperators().first(std::min<size_t>(
            static_cast<size_t>(options.kinds), FindOperators().size()))),
        random_(options.seed) {
    for (size_t i = 0; i < operators_.size(); ++i) {
      for (int k = 0; k <= kDegree; ++k) {
        polynomials_.push_back(static_cast<int64_t>(random_() >> 40) | 1);
      }
    }
  }

  StatusOr<Expressions> Run() && {
    ENCORE_RETURN_IF_ERROR(AddInputs());
    for (int level = 1; level <= options_.operators; ++level) {
      ENCORE_RETURN_IF_ERROR(AddLevel(level));
    }
    return std::move(result_);
  }

 private:
  Status AddInputs() {
    const auto count = std::min<size_t>(static_cast<size_t>(options_.inputs),
                                        FindInputs().size());
    for (size_t i = 0; i < count; ++i) {
      Values values;
      for (int set = 0; set < kDataSets; ++set) {
        Literal& literal = values.sets[set];
        literal = Literal(DType::kI64,
                          *FindInputs()[i].shape(kFindExtents).Evaluate({}));
        for (int64_t k = 0; k < literal.element_count(); ++k) {
          const auto value =
              static_cast<int64_t>(random_() >> (64 - kInputBits)) -
              (int64_t{1} << (kInputBits - 1));
          literal.SetInt(
              k, value + (IsLarger(literal.dims(), k, set) ? kLarger : 0));
        }
      }
      Expression input;
      input.operands[0] = static_cast<uint32_t>(i);
      ENCORE_RETURN_IF_ERROR(Represent(input, std::move(values)));
    }
    levels_.push_back(representatives_);
    return OkStatus();
  }

  Status AddLevel(int level) {
    std::vector<uint32_t> fresh;
    const size_t before = representatives_.size();
    for (size_t op = 0; op < operators_.size(); ++op) {
      if (operators_[op].operands == 1) {
        for (const uint32_t x : levels_[level - 1]) {
          ENCORE_RETURN_IF_ERROR(Add(op, level, {x}));
        }
        continue;
      }
      const bool commutes = Info(operators_[op].op).has(kCommutative);
      for (int left = 0; left < level; ++left) {
        for (const uint32_t x : levels_[left]) {
          for (const uint32_t y : levels_[level - 1 - left]) {
            if (commutes && y < x) continue;
            ENCORE_RETURN_IF_ERROR(Add(op, level, {x, y}));
          }
        }
      }
    }
    levels_.emplace_back(
        representatives_.begin() + static_cast<ptrdiff_t>(before),
        representatives_.end());
    return OkStatus();
  }

  Status Add(size_t number, int level, std::vector<uint32_t> operands) {
    const FindOperator& op = operators_[number];
    std::vector<Shape> shapes;
    for (const uint32_t operand : operands) shapes.push_back(ShapeOf(operand));
    const auto attributes = op.attributes(shapes, kFindExtents);
    if (!attributes) return OkStatus();
    Values values;
    for (int set = 0; set < kDataSets; ++set) {
      std::vector<Literal> literals;
      for (const uint32_t operand : operands) {
        literals.push_back(values_.at(operand).sets[set]);
      }
      if (op.opaque) {
        values.sets[set] = Polynomial(number, literals[0]);
        continue;
      }
      auto results = EvaluateNode(op.op, *attributes, literals);
      if (!results.ok()) return OkStatus();
      values.sets[set] = std::move(results->front());
    }
    Expression made{.op = static_cast<int16_t>(number),
                    .operators = static_cast<int16_t>(level)};
    std::ranges::copy(operands, made.operands);
    const auto it = by_value_.find(FingerprintOf(values));
    if (it == by_value_.end()) {
      // The last level's are built upon by nobody.
      made.zero = IsZero(values);
      if (level < options_.operators) return Represent(made, std::move(values));
      by_value_.emplace(FingerprintOf(values), Append(made));
      return CheckSize();
    }
    const Pair pair{.made = Append(made), .representative = it->second};
    if (options_.results > 1 ||
        seen_.insert(result_.Form({pair.made, pair.representative})).second) {
      result_.pairs_.push_back(pair);
    } else {
      result_.all_.pop_back();
    }
    return CheckSize();
  }

  Status CheckSize() const {
    if (static_cast<int64_t>(result_.all_.size()) <=
        options_.most_expressions) {
      return OkStatus();
    }
    return ResourceExhaustedError(
        StrCat("more than ", options_.most_expressions,
               " expressions; ask for fewer operators or kinds"));
  }

  uint32_t Append(const Expression& expression) {
    result_.all_.push_back(expression);
    return static_cast<uint32_t>(result_.all_.size() - 1);
  }

  Status Represent(const Expression& expression, Values values) {
    const uint32_t number = Append(expression);
    by_value_.emplace(FingerprintOf(values), number);
    if (expression.zero) return CheckSize();
    values_.emplace(number, std::move(values));
    representatives_.push_back(number);
    return CheckSize();
  }

  Shape ShapeOf(uint32_t expression) const {
    return values_.at(expression).sets[0].shape();
  }

  Literal Polynomial(size_t op, const Literal& x) const {
    Literal y(DType::kI64, x.dims());
    for (int64_t i = 0; i < x.element_count(); ++i) {
      uint64_t value = 0;
      for (int k = 0; k <= kDegree; ++k) {
        value = value * static_cast<uint64_t>(x.AsInt(i)) +
                static_cast<uint64_t>(
                    polynomials_[op * (kDegree + 1) + static_cast<size_t>(k)]);
      }
      y.SetInt(i, static_cast<int64_t>(value));
    }
    return y;
  }

  const FindOptions& options_;
  const std::span<const FindOperator> operators_;
  std::mt19937_64 random_;
  std::vector<int64_t> polynomials_;
  Expressions result_;
  std::unordered_map<uint32_t, Values> values_;  // of representatives
  std::map<Digest, uint32_t> by_value_;
  std::vector<uint32_t> representatives_;
  std::vector<std::vector<uint32_t>> levels_;  // representatives, by operators
  std::set<std::string> seen_;                 // shapes of pairs
};

StatusOr<Expressions> Expressions::Enumerate(const FindOptions& options) {
  return Enumerator(options).Run();
}

namespace {

// Expressions are as deep as they have operators: a handful.
void AppendText(const Expressions& all, uint32_t number,
                const std::function<std::string(uint32_t)>& input,
                std::string* out) {
  const Expressions::Expression& expression = all[number];
  if (expression.op < 0) {
    out->append(input(expression.operands[0]));
    return;
  }
  const FindOperator& op = FindOperators()[static_cast<size_t>(expression.op)];
  StrAppend(out, op.name, "[");
  for (int i = 0; i < op.operands; ++i) {
    if (i > 0) out->append(", ");
    AppendText(all, expression.operands[i], input, out);
  }
  out->append("]");
}

}  // namespace

std::string Expressions::Text(const std::vector<uint32_t>& program) const {
  std::string text;
  for (const uint32_t result : program) {
    if (!text.empty()) text += ", ";
    AppendText(
        *this, result,
        [](uint32_t input) { return std::string(FindInputs()[input].name); },
        &text);
  }
  return program.size() == 1 ? text : StrCat("results[", text, "]");
}

std::string Expressions::Form(const std::vector<uint32_t>& program) const {
  std::map<uint32_t, size_t> numbers;
  const auto name = [&](uint32_t input) {
    const auto [it, fresh] = numbers.try_emplace(input, numbers.size());
    return StrCat(it->second, ":",
                  FindInputs()[input].shape(kFindExtents).ToString());
  };
  std::string text;
  for (const uint32_t result : program) {
    if (!text.empty()) text += " = ";
    AppendText(*this, result, name, &text);
  }
  return text;
}

std::optional<Graph> Expressions::GraphOf(
    const std::vector<uint32_t>& expressions, const Extents& extents,
    DType dtype, bool simplify) const {
  GraphBuilder g("expressions", {.simplify = simplify});
  std::map<uint32_t, Value> made;
  for (uint32_t i = 0; i < all_.size() && all_[i].op < 0; ++i) {
    const FindInput& input = FindInputs()[i];
    made.emplace(i, g.Input(std::string(input.name),
                            {dtype, input.shape(extents), ValueKind::kTensor}));
  }
  std::vector<std::pair<std::string, Value>> outputs;
  for (const uint32_t root : expressions) {
    // Operands before what uses them.
    std::vector<uint32_t> order = {root};
    for (size_t i = 0; i < order.size(); ++i) {
      const Expression& expression = all_[order[i]];
      if (expression.op < 0) continue;
      const auto count = static_cast<size_t>(
          FindOperators()[static_cast<size_t>(expression.op)].operands);
      order.insert(order.end(), expression.operands,
                   expression.operands + count);
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Expression& expression = all_[*it];
      if (expression.op < 0 || made.contains(*it)) continue;
      const FindOperator& op =
          FindOperators()[static_cast<size_t>(expression.op)];
      std::vector<Value> operands;
      std::vector<Shape> shapes;
      for (int i = 0; i < op.operands; ++i) {
        operands.push_back(made.at(expression.operands[i]));
        shapes.push_back(operands.back().shape());
      }
      const auto attributes = op.attributes(shapes, extents);
      if (!attributes) return std::nullopt;
      const auto results = g.Node(op.op, operands, *attributes);
      if (!g.status().ok()) return std::nullopt;
      made.emplace(*it, results[0]);
    }
    outputs.emplace_back(StrCat("o", outputs.size()), made.at(root));
  }
  auto graph = g.Build(outputs);
  if (!graph.ok()) return std::nullopt;
  return *std::move(graph);
}

}  // namespace encore::opt
