// ai.onnx.ml: values looked up in tables.

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/ml/lookup.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Beyond any table of a file that can be read; positions are i32.
constexpr int64_t kMaxKeys = int64_t{1} << 30;

Literal StringList(std::vector<std::string> strings) {
  const auto count = static_cast<int64_t>(strings.size());
  return Literal::Strings({count}, std::move(strings));
}

// The entries of a, then those of b, of one dtype.
Literal Joined(const Literal& a, const Literal& b) {
  const int64_t count = a.element_count() + b.element_count();
  if (IsString(a.dtype())) {
    std::vector<std::string> all = a.strings();
    all.insert(all.end(), b.strings().begin(), b.strings().end());
    return StringList(std::move(all));
  }
  Literal all(a.dtype(), {count});
  const std::span<std::byte> bytes = all.mutable_bytes();
  std::ranges::copy(a.bytes(), bytes.begin());
  std::ranges::copy(b.bytes(), bytes.begin() + a.bytes().size());
  return all;
}

// What is looked up, and what it becomes.
struct Mapping {
  Literal keys, values;
  Literal otherwise;  // of one element
};

Status EmitMapping(NodeContext& context, const Mapping& mapping) {
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  if (x.dtype() != mapping.keys.dtype()) {
    return NodeContext::Error(StrCat("input X is ", x.type(),
                                     ", but the attributes map from ",
                                     mapping.keys.dtype()));
  }
  if (mapping.keys.element_count() >= kMaxKeys) {
    return ResourceExhaustedError("the attributes list too many keys");
  }
  return context.Output(
      0, g.Take(g.Constant(Joined(mapping.values, mapping.otherwise)),
                FindKeys(g, x, mapping.keys), 0));
}

// The lists that LabelEncoder has for keys and for values: of the names
// `prefix`_strings, _int64s, _floats and _tensor the one that is given, as
// `name`.
StatusOr<Literal> ReadList(NodeContext& context, const std::string& prefix,
                           std::string* name) {
  AttributeReader& attributes = context.attributes();
  std::vector<std::string> given;
  Literal list;
  if (attributes.Has(prefix + "_strings")) {
    given.push_back(prefix + "_strings");
    ENCORE_ASSIGN_OR_RETURN(auto strings, attributes.Strings(given.back()));
    list = StringList(std::move(strings));
  }
  if (attributes.Has(prefix + "_int64s")) {
    given.push_back(prefix + "_int64s");
    ENCORE_ASSIGN_OR_RETURN(const Ints ints, attributes.Ints(given.back(), {}));
    list = Literal::Vector<int64_t>(ints);
  }
  if (attributes.Has(prefix + "_floats")) {
    given.push_back(prefix + "_floats");
    ENCORE_ASSIGN_OR_RETURN(const std::vector<float> floats,
                            attributes.Floats(given.back()));
    list = Literal::Vector<float>(floats);
  }
  if (attributes.Has(prefix + "_tensor")) {
    given.push_back(prefix + "_tensor");
    ENCORE_ASSIGN_OR_RETURN(const Tensor* tensor,
                            attributes.TensorValue(given.back()));
    ENCORE_ASSIGN_OR_RETURN(list, ToLiteral(*tensor, context.source()));
    if (list.rank() != 1) {
      return NodeContext::Error(StrCat("attribute ", given.back(), " is ",
                                       list.type(), ", expected a vector"));
    }
  }
  if (given.size() == 1) {
    *name = given[0];
    return list;
  }
  if (given.empty()) {
    return NodeContext::Error(StrCat(
        "one of the attributes ", prefix, "_strings, ", prefix, "_int64s, ",
        prefix, "_floats and ", prefix, "_tensor is missing"));
  }
  return NodeContext::Error(StrCat("attributes ", given[0], " and ", given[1],
                                   " are both given, expected one of them"));
}

// What elements of no key become, a vector of one element of `dtype`.
StatusOr<Literal> ReadDefault(NodeContext& context, DType dtype) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const std::string text,
                          attributes.String("default_string", "_Unused"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t integer,
                          attributes.Int("default_int64", -1));
  ENCORE_ASSIGN_OR_RETURN(const float number,
                          attributes.Float("default_float", -0.0f));
  ENCORE_ASSIGN_OR_RETURN(const Tensor* tensor,
                          attributes.TensorValue("default_tensor"));
  if (tensor != nullptr) {
    ENCORE_ASSIGN_OR_RETURN(const Literal given,
                            ToLiteral(*tensor, context.source()));
    if (given.element_count() != 1 || given.dtype() != dtype) {
      return NodeContext::Error(StrCat("attribute default_tensor is ",
                                       given.type(), ", expected one ", dtype));
    }
    return given.Reshaped({1});
  }
  if (IsString(dtype)) return StringList({text});
  Literal literal(dtype, {1});
  if (IsFloat(dtype)) {
    literal.SetDouble(0, number);
  } else {
    literal.SetInt(0, integer);
  }
  return literal;
}

Status LabelEncoder(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  Mapping mapping;
  std::string keys, values;
  ENCORE_ASSIGN_OR_RETURN(mapping.keys, ReadList(context, "keys", &keys));
  ENCORE_ASSIGN_OR_RETURN(mapping.values, ReadList(context, "values", &values));
  ENCORE_RETURN_IF_ERROR(CheckLength(values, mapping.values.element_count(),
                                     mapping.keys.element_count(),
                                     StrCat("attribute ", keys)));
  ENCORE_ASSIGN_OR_RETURN(mapping.otherwise,
                          ReadDefault(context, mapping.values.dtype()));
  return EmitMapping(context, mapping);
}

// Integers to strings, or strings to integers, as the input is.
Status CategoryMapper(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints ints, attributes.Ints("cats_int64s", {}));
  ENCORE_ASSIGN_OR_RETURN(auto strings, attributes.Strings("cats_strings"));
  ENCORE_RETURN_IF_ERROR(CheckLength("cats_int64s", ints.size(), strings.size(),
                                     "attribute cats_strings"));
  Mapping mapping;
  mapping.keys = Literal::Vector<int64_t>(ints);
  mapping.values = StringList(std::move(strings));
  if (IsString(context.Input(0).dtype())) {
    std::swap(mapping.keys, mapping.values);
  }
  ENCORE_ASSIGN_OR_RETURN(mapping.otherwise,
                          ReadDefault(context, mapping.values.dtype()));
  return EmitMapping(context, mapping);
}

// A last axis along which the element's category is 1. Numbers are truncated
// to integers.
Status OneHotEncoder(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Literal categories,
                          ReadLabels(context, "cats_int64s", "cats_strings"));
  ENCORE_ASSIGN_OR_RETURN(const bool zeros,
                          context.attributes().Bool("zeros", true));
  Value x = context.Input(0);
  if (IsString(x.dtype()) != IsString(categories.dtype())) {
    return NodeContext::Error(StrCat("input X is ", x.type(),
                                     ", but the attributes list categories of ",
                                     categories.dtype()));
  }
  const int64_t count = categories.element_count();
  if (count >= kMaxKeys) {
    return ResourceExhaustedError("the attributes list too many categories");
  }
  if (!IsString(x.dtype())) x = g.Cast(x, DType::kI64);
  const Value found = FindKeys(g, x, categories);
  const int rank = x.rank();
  Value hot = g.Cast(g.Compare(g.Unsqueeze(found, {rank}),
                               g.Iota(DType::kI32, {count}), Comparison::kEq),
                     DType::kF32);
  if (!zeros) {
    const Value unknown =
        g.Cast(g.Compare(found, count, Comparison::kEq), DType::kI64);
    const Value most =
        rank == 0 ? unknown
                  : g.Reduce(unknown, Combiner::kMax, AxesFrom(0, rank));
    hot = g.Assert(hot, g.Compare(most, 0, Comparison::kLe),
                   "OneHotEncoder: an element of X is none of the categories, "
                   "and attribute zeros is 0");
  }
  return context.Output(0, hot);
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.CategoryMapper", CategoryMapper, Op::kGather},
    {"ai.onnx.ml.LabelEncoder", LabelEncoder, Op::kGather},
    {"ai.onnx.ml.OneHotEncoder", OneHotEncoder, Op::kCompare},
};

}  // namespace

std::span<const Converter> EncoderConverters() { return kConverters; }

}  // namespace encore::onnx
