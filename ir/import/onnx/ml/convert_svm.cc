// ai.onnx.ml: support vector machines, as libsvm writes them.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Entries of the table of coefficients by pairs of classes.
constexpr int64_t kMaxPairEntries = int64_t{1} << 26;

struct Kernel {
  std::string name;
  double gamma = 0, offset = 0, degree = 0;
};

StatusOr<Kernel> ReadKernel(NodeContext& context) {
  Kernel kernel;
  ENCORE_ASSIGN_OR_RETURN(kernel.name,
                          context.attributes().String("kernel_type", "LINEAR"));
  constexpr std::array<std::string_view, 4> kNames = {"LINEAR", "POLY", "RBF",
                                                      "SIGMOID"};
  if (std::ranges::find(kNames, kernel.name) == kNames.end()) {
    return NodeContext::Error(
        StrCat("attribute kernel_type is ", Quote(kernel.name),
               ", expected LINEAR, POLY, RBF or SIGMOID"));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> parameters,
                          context.attributes().Floats("kernel_params"));
  if (parameters.empty()) return kernel;
  ENCORE_RETURN_IF_ERROR(CheckLength("kernel_params", parameters.size(), 3,
                                     "the standard (gamma, coef0, degree)"));
  kernel.gamma = parameters[0];
  kernel.offset = parameters[1];
  kernel.degree = parameters[2];
  return kernel;
}

// The kernel of each row of `x`, [N, F], and each of the vectors, [V, F]:
// [N, V].
Value Evaluate(GraphBuilder& g, const Kernel& kernel, Value x, Value vectors) {
  if (kernel.name == "RBF") {
    // As differences: squared norms would cancel.
    const Value apart = g.Sub(g.Unsqueeze(x, {1}), g.Unsqueeze(vectors, {0}));
    return g.Exp(g.Mul(g.Sum(g.Mul(apart, apart), {2}), -kernel.gamma));
  }
  const Value product = g.DotGeneral(x, vectors, {{1}, {1}});
  if (kernel.name == "LINEAR") return product;
  const Value scaled = g.Add(g.Mul(product, kernel.gamma), kernel.offset);
  return kernel.name == "POLY" ? g.Pow(scaled, kernel.degree) : g.Tanh(scaled);
}

// Input 0, and the kernel of its rows and of `count` support vectors.
StatusOr<Value> KernelValues(NodeContext& context, int64_t count) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Kernel kernel, ReadKernel(context));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> vectors,
                          context.attributes().Floats("support_vectors"));
  const auto size = static_cast<int64_t>(vectors.size());
  if (size == 0 || size % count != 0) {
    return NodeContext::Error(
        StrCat("attribute support_vectors has ", size,
               " entries, expected a positive multiple of ", count,
               ", the number of vectors"));
  }
  const int64_t features = size / count;
  ENCORE_ASSIGN_OR_RETURN(const Value x, Rows(context, DType::kF32, features,
                                              "attribute support_vectors"));
  return Evaluate(g, kernel, x, Matrix(g, count, features, vectors));
}

// What both operators have.
struct Machine {
  std::vector<float> coefficients, rho;
  PostTransform transform = PostTransform::kNone;
};

StatusOr<Machine> ReadMachine(NodeContext& context) {
  Machine machine;
  ENCORE_ASSIGN_OR_RETURN(machine.coefficients,
                          context.attributes().Floats("coefficients"));
  ENCORE_ASSIGN_OR_RETURN(machine.rho, context.attributes().Floats("rho"));
  ENCORE_ASSIGN_OR_RETURN(machine.transform, ReadPostTransform(context));
  if (machine.rho.empty()) {
    return NodeContext::Error("attribute rho is missing or empty");
  }
  return machine;
}

// X W^T + rho, [N, targets], where there are no support vectors; the attributes
// of kernels mean nothing then.
StatusOr<Value> WithoutVectors(NodeContext& context, int64_t targets,
                               const Machine& machine) {
  GraphBuilder& g = context.builder();
  const std::vector<float>& coefficients = machine.coefficients;
  ENCORE_RETURN_IF_ERROR(ReadKernel(context).status());
  context.attributes().Ignore("support_vectors");
  const auto size = static_cast<int64_t>(coefficients.size());
  if (size == 0 || size % targets != 0) {
    return NodeContext::Error(
        StrCat("attribute coefficients has ", size,
               " entries, expected a positive multiple of ", targets,
               ", the number of scores"));
  }
  const int64_t features = size / targets;
  ENCORE_ASSIGN_OR_RETURN(const Value x, Rows(context, DType::kF32, features,
                                              "attribute coefficients"));
  return g.Add(
      g.DotGeneral(x, Matrix(g, targets, features, coefficients), {{1}, {1}}),
      machine.rho[0]);
}

Status SvmRegressor(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Machine machine, ReadMachine(context));
  ENCORE_RETURN_IF_ERROR(
      CheckLength("rho", machine.rho.size(), 1, "the standard"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t count, attributes.Int("n_supports", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t one_class,
                          attributes.Int("one_class", 0));
  if (count < 0) {
    return NodeContext::Error(
        StrCat("attribute n_supports is ", count, ", which is negative"));
  }
  Value score;
  if (count == 0) {
    ENCORE_ASSIGN_OR_RETURN(score, WithoutVectors(context, 1, machine));
  } else {
    ENCORE_RETURN_IF_ERROR(CheckLength(
        "coefficients", machine.coefficients.size(), count, "n_supports"));
    ENCORE_ASSIGN_OR_RETURN(const Value kernels, KernelValues(context, count));
    score = g.Add(g.MatMul(kernels, Matrix(g, count, 1, machine.coefficients)),
                  machine.rho[0]);
  }
  if (one_class != 0) {
    score = g.Select(g.Compare(score, 0.0, Comparison::kGt),
                     g.Scalar(DType::kF32, 1.0), g.Scalar(DType::kF32, -1.0));
  }
  return context.Output(0, Transformed(context, score, machine.transform));
}

// A classifier that compares each pair of classes: (0, 1), (0, 2), … (1, 2), …
struct Pairs {
  int64_t classes = 0;
  Ints vectors = {};  // per class
  int64_t vector_count = 0;
  int64_t count() const { return classes * (classes - 1) / 2; }
};

StatusOr<Pairs> ReadPairs(NodeContext& context, int64_t classes) {
  Pairs pairs{classes};
  ENCORE_ASSIGN_OR_RETURN(pairs.vectors,
                          context.attributes().Ints("vectors_per_class", {}));
  for (const int64_t count : pairs.vectors) {
    if (count < 0 || count > INT32_MAX - pairs.vector_count) {
      return NodeContext::Error(
          StrCat("attribute vectors_per_class has the entry ", count));
    }
    pairs.vector_count += count;
  }
  if (pairs.vector_count == 0) return pairs;
  ENCORE_RETURN_IF_ERROR(CheckLength("vectors_per_class", pairs.vectors.size(),
                                     classes, "the list of labels"));
  if (classes < 2) {
    return NodeContext::Error("one class has no other to be compared with");
  }
  if (classes > (1 << 15) ||
      pairs.vector_count > kMaxPairEntries / pairs.count()) {
    return ResourceExhaustedError(StrCat(
        pairs.vector_count, " support vectors of ", classes,
        " classes are more than ", kMaxPairEntries, " coefficients of pairs"));
  }
  return pairs;
}

// What the coefficients, [classes - 1, vectors], give each vector in each pair:
// [vectors, pairs]. Row j - 1 has those of class i's vectors beside class j,
// row i those of class j's.
std::vector<float> ByPair(const Pairs& pairs,
                          const std::vector<float>& coefficients) {
  std::vector<float> table(pairs.vector_count * pairs.count());
  Ints starts = {0};
  for (const int64_t count : pairs.vectors) {
    starts.push_back(starts.back() + count);
  }
  int64_t pair = 0;
  for (int64_t i = 0; i < pairs.classes; ++i) {
    for (int64_t j = i + 1; j < pairs.classes; ++j, ++pair) {
      const auto fill = [&](int64_t of, int64_t row) {
        for (int64_t v = starts[of]; v < starts[of + 1]; ++v) {
          table[v * pairs.count() + pair] =
              coefficients[row * pairs.vector_count + v];
        }
      };
      fill(i, j - 1);
      fill(j, i);
    }
  }
  return table;
}

// For each pair a row with a 1 in the column of its first class, or its second.
Value ClassOfPair(GraphBuilder& g, const Pairs& pairs, bool second) {
  std::vector<float> table(pairs.count() * pairs.classes);
  int64_t pair = 0;
  for (int64_t i = 0; i < pairs.classes; ++i) {
    for (int64_t j = i + 1; j < pairs.classes; ++j, ++pair) {
      table[pair * pairs.classes + (second ? j : i)] = 1;
    }
  }
  return Matrix(g, pairs.count(), pairs.classes, table);
}

// How many pairs each class wins: f32 [N, classes]; the second of a pair does
// where the score is not positive.
Value PairsWon(GraphBuilder& g, const Pairs& pairs, Value scores) {
  const Value first =
      g.Cast(g.Compare(scores, 0.0, Comparison::kGt), DType::kF32);
  return g.Add(g.MatMul(first, ClassOfPair(g, pairs, false)),
               g.MatMul(g.Sub(1.0, first), ClassOfPair(g, pairs, true)));
}

// Q of the quadratic program, [N, k, k], of the probabilities r that the first
// of each pair is the one, [N, pairs].
Value Quadratic(GraphBuilder& g, const Pairs& pairs, Value r) {
  const int64_t k = pairs.classes;
  // Where [i, j] and [j, i] take their probability from.
  std::vector<int32_t> source(k * k);
  std::vector<float> flipped(k * k), diagonal(k * k);
  int32_t pair = 0;
  for (int64_t i = 0; i < k; ++i) {
    diagonal[i * k + i] = 1;
    for (int64_t j = i + 1; j < k; ++j, ++pair) {
      source[i * k + j] = source[j * k + i] = pair;
      flipped[j * k + i] = 1;
    }
  }
  const Value from = g.Constant(Literal::FromValues<int32_t>({k, k}, source));
  const Value flip = Matrix(g, k, k, flipped), eye = Matrix(g, k, k, diagonal);
  const Value taken = g.Take(r, from, 1);
  const Value matrix = g.Mul(
      g.Add(g.Mul(taken, g.Sub(1.0, g.Mul(flip, 2.0))), flip), g.Sub(1.0, eye));
  const Value transposed = g.TransposeMatrix(matrix);
  const Value squares = g.Sum(g.Mul(transposed, transposed), {2}, true);
  return g.Sub(g.Mul(squares, eye), g.Mul(matrix, transposed));
}

// The state of the iteration for each row.
struct Coupling {
  Value p, qp, pqp, open;  // [N, k], [N, k], [N, 1], bool [N, 1]
};

// Starts an iteration where step % k == 0: rows that are close enough are
// closed. Then improves one probability of each open row.
Coupling Improve(GraphBuilder& g, Value step, Value q, const Coupling& old,
                 int64_t k) {
  const Value turn = g.Rem(step, k);
  const Value starts = g.Compare(turn, 0, Comparison::kEq);
  const Value fresh = g.Squeeze(g.MatMul(q, g.Unsqueeze(old.p, {2})), {2});
  const Value qp = g.Select(starts, fresh, old.qp);
  const Value pqp =
      g.Select(starts, g.Sum(g.Mul(old.p, fresh), {1}, true), old.pqp);
  const Value error =
      g.Reduce(g.Abs(g.Sub(qp, pqp)), Combiner::kMax, {1}, true);
  const Value far =
      g.Compare(error, 0.005 / static_cast<double>(k), Comparison::kGe);
  const Value open = g.And(old.open, g.Or(g.Not(starts), far));
  const Value mine = g.Cast(
      g.Compare(g.Iota(DType::kI64, {k}), turn, Comparison::kEq), DType::kF32);
  const Value row = g.Sum(g.Mul(q, g.Reshape(mine, {k, 1})), {1});
  const Value own = g.Sum(g.Mul(row, mine), {1}, true);
  const Value at = g.Sum(g.Mul(qp, mine), {1}, true);
  const Value change = g.Div(g.Sub(pqp, at), own);
  const Value whole = g.Add(change, 1.0);
  const Value next_pqp = g.Div(
      g.Add(pqp, g.Mul(change, g.Add(g.Mul(change, own), g.Mul(at, 2.0)))),
      g.Mul(whole, whole));
  const auto keep = [&](Value now, Value before) {
    return g.Select(g.BroadcastTo(open, now.shape()), now, before);
  };
  return {keep(g.Div(g.Add(old.p, g.Mul(change, mine)), whole), old.p),
          keep(g.Div(g.Add(qp, g.Mul(change, row)), whole), qp),
          keep(next_pqp, pqp), open};
}

// Probabilities of classes from those of pairs: the second method of Wu, Lin
// and Weng, "Probability estimates for multi-class classification by pairwise
// coupling" (2004), with the steps and the bounds of libsvm.
Value Couple(GraphBuilder& g, const Pairs& pairs, Value r) {
  const int64_t k = pairs.classes;
  const Dim rows = r.shape()[0];
  const auto full = [&](Shape shape, double value) {
    return g.Full(std::move(shape), g.Scalar(DType::kF32, value));
  };
  const Value start = full({rows, k}, 1.0 / static_cast<double>(k));
  const Value open = g.Full({rows, 1}, g.Constant(Literal::Scalar(true)));
  const std::vector<Value> operands = {start, full({rows, k}, 0),
                                       full({rows, 1}, 0), open,
                                       Quadratic(g, pairs, r)};
  LoopAttrs loop;
  loop.carried = 4;
  loop.max_trips = std::max<int64_t>(100, k) * k;
  const auto results = g.Loop(
      g.Scalar(DType::kI64, loop.max_trips), g.Constant(Literal::Scalar(true)),
      operands,
      [&](GraphBuilder& body, std::span<const Value> in) {
        const Coupling next =
            Improve(body, in[0], in[6], {in[2], in[3], in[4], in[5]}, k);
        const Value more = body.Reduce(next.open, Combiner::kOr, {0, 1});
        return std::vector<Value>{more, next.p, next.qp, next.pqp, next.open};
      },
      loop);
  return results.empty() ? Value() : results[0];
}

// The probabilities of classes, where the attributes prob_a and prob_b are
// there, else an invalid value.
StatusOr<Value> Probabilities(NodeContext& context, const Pairs& pairs,
                              Value scores) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> a,
                          context.attributes().Floats("prob_a"));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> b,
                          context.attributes().Floats("prob_b"));
  if (a.empty() && b.empty()) return Value();
  const auto count = static_cast<size_t>(pairs.count());
  const std::string_view as = "the number of pairs of classes";
  ENCORE_RETURN_IF_ERROR(CheckLength("prob_a", a.size(), count, as));
  ENCORE_RETURN_IF_ERROR(CheckLength("prob_b", b.size(), count, as));
  constexpr double kLeast = 1e-7;
  const Value line = g.Add(g.Mul(scores, g.Constant(Literal::Vector<float>(a))),
                           g.Constant(Literal::Vector<float>(b)));
  const Value r = g.Clamp(g.Logistic(g.Neg(line)), kLeast, 1 - kLeast);
  ENCORE_RETURN_IF_ERROR(g.status());
  return Couple(g, pairs, r);
}

// Labels and scores of a classifier with support vectors.
Status ComparePairs(NodeContext& context, const Pairs& pairs,
                    const Literal& labels, const Machine& machine) {
  GraphBuilder& g = context.builder();
  const PostTransform transform = machine.transform;
  ENCORE_RETURN_IF_ERROR(CheckLength(
      "coefficients", machine.coefficients.size(),
      (pairs.classes - 1) * pairs.vector_count, "vectors_per_class"));
  ENCORE_RETURN_IF_ERROR(CheckLength("rho", machine.rho.size(), pairs.count(),
                                     "the number of pairs of classes"));
  ENCORE_ASSIGN_OR_RETURN(const Value kernels,
                          KernelValues(context, pairs.vector_count));
  const Value scores =
      g.Add(g.MatMul(kernels, Matrix(g, pairs.vector_count, pairs.count(),
                                     ByPair(pairs, machine.coefficients))),
            g.Constant(Literal::Vector<float>(machine.rho)));
  const Value top = TopClass(g, PairsWon(g, pairs, scores));
  ENCORE_RETURN_IF_ERROR(context.Output(0, LabelsAt(g, labels, top)));
  ENCORE_ASSIGN_OR_RETURN(const Value probabilities,
                          Probabilities(context, pairs, scores));
  if (!probabilities.valid() && pairs.count() == 1) {
    const bool complement = transform != PostTransform::kNone;
    return context.Output(1,
                          BothClasses(context, scores, complement, transform));
  }
  return context.Output(
      1, Transformed(context, probabilities.valid() ? probabilities : scores,
                     transform));
}

Status SvmClassifier(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(
      const Literal labels,
      ReadLabels(context, "classlabels_ints", "classlabels_strings"));
  ENCORE_ASSIGN_OR_RETURN(const Machine machine, ReadMachine(context));
  ENCORE_ASSIGN_OR_RETURN(const Pairs pairs,
                          ReadPairs(context, labels.element_count()));
  if (pairs.vector_count > 0) {
    return ComparePairs(context, pairs, labels, machine);
  }
  for (const std::string_view name : {"prob_a", "prob_b"}) {
    attributes.Ignore(name);
  }
  ENCORE_ASSIGN_OR_RETURN(const Value scores,
                          WithoutVectors(context, pairs.classes, machine));
  ENCORE_RETURN_IF_ERROR(
      context.Output(0, LabelsAt(g, labels, TopClass(g, scores))));
  return context.Output(1, Transformed(context, scores, machine.transform));
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.SVMClassifier", SvmClassifier, Op::kDotGeneral},
    {"ai.onnx.ml.SVMRegressor", SvmRegressor, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> SvmConverters() { return kConverters; }

}  // namespace encore::onnx
