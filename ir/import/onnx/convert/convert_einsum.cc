// Einsum: sums of products over labelled dims, as a chain of contractions.

#include <algorithm>
#include <map>
#include <set>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A label per dim. Letters are themselves; the dims that an ellipsis stands
// for are numbered from its end, so that they align as broadcasting has it.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

struct Term {
  Value value;
  Labels labels;
};

struct Equation {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
};

StatusOr<Equation> Parse(std::string_view text) {
  Equation equation;
  std::string current;
  bool arrow = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == ',' && !arrow) {
      equation.inputs.push_back(std::exchange(current, ""));
    } else if (text.substr(i, 2) == "->" && !arrow) {
      arrow = true;
      ++i;
      equation.inputs.push_back(std::exchange(current, ""));
    } else if (text.substr(i, 3) == "..." &&
               current.find('.') == std::string::npos) {
      i += 2;
      current += '.';
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      current += c;
    } else {
      return NodeContext::Error(
          StrCat("attribute equation is ", Quote(text),
                 ", which has an unexpected character at offset ", i));
    }
  }
  if (arrow) {
    equation.output = current;
  } else {
    equation.inputs.push_back(current);
  }
  return equation;
}

// The labels of a term whose ellipsis, if any, stands for `dims` dims.
Labels LabelsOf(std::string_view term, int dims) {
  Labels labels;
  for (const char c : term) {
    if (c != '.') {
      labels.push_back(c);
      continue;
    }
    for (int i = dims; i-- > 0;) labels.push_back(kEllipsis + i);
  }
  return labels;
}

int IndexOf(const Labels& labels, int label) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  return found == labels.end() ? -1 : static_cast<int>(found - labels.begin());
}

// A label that repeats within a term stands for the diagonal.
void TakeDiagonals(GraphBuilder& g, Term* term) {
  for (size_t i = 0; i < term->labels.size(); ++i) {
    for (size_t k = i + 1; k < term->labels.size();) {
      if (term->labels[k] != term->labels[i]) {
        ++k;
        continue;
      }
      const Shape shape = term->value.shape();
      const Value on = g.Compare(
          g.Iota(DType::kI64, shape, static_cast<int64_t>(i)),
          g.Iota(DType::kI64, shape, static_cast<int64_t>(k)), Comparison::kEq);
      const Value zero = g.Constant(Literal(term->value.dtype(), {}));
      term->value =
          g.Sum(g.Select(on, term->value, zero), {static_cast<int64_t>(k)});
      term->labels.erase(term->labels.begin() + k);
    }
  }
}

// Sums over the labels that nobody asks for.
void SumOut(GraphBuilder& g, const std::set<int>& wanted, Term* term) {
  Ints axes;
  Labels kept;
  for (size_t i = 0; i < term->labels.size(); ++i) {
    if (wanted.contains(term->labels[i])) {
      kept.push_back(term->labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return;
  term->value = g.Sum(term->value, std::move(axes));
  term->labels = std::move(kept);
}

// Where one of two has an extent of 1 under a label that both have, it is
// spread to the other's.
void Spread(GraphBuilder& g, const Term& like, Term* term) {
  if (!like.value.valid() || !term->value.valid()) return;
  Shape shape = term->value.shape();
  for (size_t i = 0; i < term->labels.size(); ++i) {
    const int other = IndexOf(like.labels, term->labels[i]);
    if (other >= 0 && shape[static_cast<int>(i)] == Dim(1)) {
      shape[static_cast<int>(i)] = like.value.shape()[other];
    }
  }
  term->value = g.BroadcastTo(term->value, shape);
}

// The product of two terms, summed over labels that nobody wants afterwards.
Term Contract(GraphBuilder& g, Term a, Term b, const std::set<int>& wanted) {
  std::set<int> for_a = wanted, for_b = wanted;
  for_a.insert(b.labels.begin(), b.labels.end());
  for_b.insert(a.labels.begin(), a.labels.end());
  SumOut(g, for_a, &a);
  SumOut(g, for_b, &b);
  Spread(g, b, &a);
  Spread(g, a, &b);
  AxisPairs contract, batch;
  Term result;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const int k = IndexOf(b.labels, a.labels[i]);
    if (k < 0) continue;
    const bool stays = wanted.contains(a.labels[i]);
    (stays ? batch : contract).lhs.push_back(static_cast<int64_t>(i));
    (stays ? batch : contract).rhs.push_back(k);
    if (stays) result.labels.push_back(a.labels[i]);
  }
  for (const int label : a.labels) {
    if (IndexOf(b.labels, label) < 0) result.labels.push_back(label);
  }
  for (const int label : b.labels) {
    if (IndexOf(a.labels, label) < 0) result.labels.push_back(label);
  }
  result.value =
      g.DotGeneral(a.value, b.value, std::move(contract), std::move(batch));
  return result;
}

// Letters that stand once, in the order of the alphabet, after the ellipsis.
Labels ImpliedOutput(const std::vector<Term>& terms, int ellipsis) {
  std::map<int, int> counts;
  for (const Term& term : terms) {
    for (const int label : term.labels) ++counts[label];
  }
  Labels output = LabelsOf(".", ellipsis);
  for (const auto& [label, count] : counts) {
    if (label < kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

StatusOr<std::vector<Term>> ReadTerms(NodeContext& context,
                                      const Equation& equation, int* ellipsis) {
  std::vector<Term> terms;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    const std::string& text = equation.inputs[i];
    Term term;
    term.value = context.Input(static_cast<int>(i));
    const bool open = text.find('.') != std::string::npos;
    const int dims =
        term.value.rank() - static_cast<int>(text.size()) + (open ? 1 : 0);
    if (dims < 0 || (!open && dims != 0)) {
      return NodeContext::Error(StrCat("attribute equation has ", Quote(text),
                                       " for ", term.value.type()));
    }
    term.labels = LabelsOf(text, dims);
    *ellipsis = std::max(*ellipsis, open ? dims : 0);
    terms.push_back(std::move(term));
  }
  return terms;
}

Status Einsum(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::string text,
                          context.attributes().String("equation", ""));
  ENCORE_ASSIGN_OR_RETURN(const Equation equation, Parse(text));
  if (static_cast<int>(equation.inputs.size()) != context.input_count()) {
    return NodeContext::Error(StrCat("attribute equation is ", Quote(text),
                                     " for ", context.input_count(),
                                     " inputs"));
  }
  int ellipsis = 0;
  ENCORE_ASSIGN_OR_RETURN(std::vector<Term> terms,
                          ReadTerms(context, equation, &ellipsis));
  const Labels output = equation.output ? LabelsOf(*equation.output, ellipsis)
                                        : ImpliedOutput(terms, ellipsis);
  for (Term& term : terms) TakeDiagonals(g, &term);
  Term result = terms[0];
  for (size_t i = 1; i <= terms.size(); ++i) {
    std::set<int> wanted(output.begin(), output.end());
    for (size_t k = i + 1; k < terms.size(); ++k) {
      wanted.insert(terms[k].labels.begin(), terms[k].labels.end());
    }
    if (i == terms.size()) {
      SumOut(g, wanted, &result);
    } else {
      result = Contract(g, std::move(result), terms[i], wanted);
    }
    ENCORE_RETURN_IF_ERROR(g.status());
  }
  Ints permutation;
  for (const int label : output) {
    const int at = IndexOf(result.labels, label);
    if (at < 0 || std::ranges::find(permutation, at) != permutation.end()) {
      return NodeContext::Error(
          StrCat("attribute equation is ", Quote(text),
                 ", whose output has a label that no input has, or one twice"));
    }
    permutation.push_back(at);
  }
  return context.Output(0, g.Transpose(result.value, std::move(permutation)));
}

constexpr Converter kConverters[] = {
    {"Einsum", Einsum, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> EinsumConverters() { return kConverters; }

}  // namespace encore::onnx
