// Strings. Casts to and from them, and their equality, are with those of
// numbers.

#include <optional>

#include "encore/ir/host/host_ops.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "re2/re2.h"

namespace encore::onnx {
namespace {

StatusOr<Value> StringInput(NodeContext& context, int i) {
  const Value value = context.Input(i);
  if (value.dtype() == DType::kString &&
      value.type().kind == ValueKind::kTensor) {
    return value;
  }
  return NodeContext::Error(
      StrCat("input ", i, " is ", value.type(), ", expected strings"));
}

// The result of an operator whose last extent the values decide: a constant
// where they are known, else data-dependent, at `most` so large.
template <typename Attrs>
std::vector<Value> EmitSized(NodeContext& context, Op op, Value x, Attrs attrs,
                             std::optional<int64_t> most) {
  if (const Literal* known = x.constant()) {
    const auto results = ApplyHostOp(op, attrs, {*known});
    if (results.ok()) {
      const std::vector<int64_t>& dims = (*results)[0].dims();
      attrs.size = {dims.back()};
    }
  }
  if (attrs.size.empty()) {
    attrs.size = {RunTimeSize(context.builder(), most)};
  }
  return context.builder().Node(op, std::vector<Value>{x}, std::move(attrs));
}

Status StringNormalizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value x, StringInput(context, 0));
  StringNormalizeAttrs attrs;
  ENCORE_ASSIGN_OR_RETURN(
      attrs.case_change,
      context.attributes().Word<CaseChange>("case_change_action",
                                            {{"NONE", CaseChange::kNone},
                                             {"LOWER", CaseChange::kLower},
                                             {"UPPER", CaseChange::kUpper}}));
  ENCORE_ASSIGN_OR_RETURN(
      attrs.case_sensitive,
      context.attributes().Bool("is_case_sensitive", false));
  ENCORE_ASSIGN_OR_RETURN(const std::string locale,
                          context.attributes().String("locale", "en_US"));
  std::vector<std::string> words;
  if (context.attributes().Has("stopwords")) {
    ENCORE_ASSIGN_OR_RETURN(words, context.attributes().Strings("stopwords"));
  }
  const auto count = static_cast<int64_t>(words.size());
  attrs.stop_words = Literal::Strings({count}, std::move(words));
  // Of no words one empty one is left.
  std::optional<int64_t> most;
  if (x.rank() > 0) {
    most = std::max<int64_t>(
        x.shape()[x.rank() - 1].UpperBound(context.builder().graph().symbols()),
        1);
  }
  return context.Output(
      0, EmitSized(context, Op::kStringNormalize, x, attrs, most)[0]);
}

Status StringConcat(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_RETURN_IF_ERROR(StringInput(context, 0).status());
  ENCORE_RETURN_IF_ERROR(StringInput(context, 1).status());
  return context.Output(
      0,
      context.Emit(Op::kStringConcat, BroadcastAll(context, context.Inputs())));
}

Status StringSplit(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value x, StringInput(context, 0));
  StringSplitAttrs attrs;
  ENCORE_ASSIGN_OR_RETURN(attrs.delimiter,
                          context.attributes().String("delimiter", ""));
  ENCORE_ASSIGN_OR_RETURN(attrs.max_split,
                          context.attributes().Int("maxsplit", -1));
  if (attrs.max_split < -1) {
    return NodeContext::Error(
        StrCat("attribute maxsplit is ", attrs.max_split,
               ", expected -1 or a number that is not negative"));
  }
  std::optional<int64_t> most;
  if (attrs.max_split >= 0 && attrs.max_split < kMaxSize) {
    most = attrs.max_split + 1;
  }
  const std::vector<Value> results =
      EmitSized(context, Op::kStringSplit, x, attrs, most);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_RETURN_IF_ERROR(context.Output(0, results[0]));
  return context.Output(1, results[1]);
}

Status RegexFullMatch(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const Value x, StringInput(context, 0));
  ENCORE_ASSIGN_OR_RETURN(const std::string pattern,
                          context.attributes().String("pattern", ""));
  RE2::Options options;
  options.set_log_errors(false);
  if (const RE2 compiled(pattern, options); !compiled.ok()) {
    return NodeContext::Error(StrCat("attribute pattern: ", compiled.error()));
  }
  return context.Output(
      0, context.Emit(Op::kStringMatch, {x}, StringMatchAttrs{pattern}));
}

constexpr Converter kConverters[] = {
    {"RegexFullMatch", RegexFullMatch, Op::kStringMatch},
    {"StringConcat", StringConcat, Op::kStringConcat},
    {"StringNormalizer", StringNormalizer, Op::kStringNormalize},
    {"StringSplit", StringSplit, Op::kStringSplit},
};

}  // namespace

std::span<const Converter> StringConverters() { return kConverters; }

}  // namespace encore::onnx
