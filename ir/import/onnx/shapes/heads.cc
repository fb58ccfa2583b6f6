#include "encore/ir/import/onnx/shapes/heads.h"

#include <string>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {

namespace {

// The attributes of the node that say so many heads, for a message.
std::string AttributesOf(const Node& node, int64_t heads) {
  std::vector<std::string_view> names;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name.ends_with("num_heads") && attribute.i == heads) {
      names.push_back(attribute.name);
    }
  }
  if (names.empty()) return "";
  return StrCat(" (attribute ", StrJoin(names, ", "), ")");
}

}  // namespace

StatusOr<Value> HeadsApart(NodeContext& context, Value x, int64_t heads,
                           std::string_view what) {
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  const Shape shape = context.shape(x);
  if (shape.rank() != 3 || heads < 1 ||
      (shape[2].is_constant() && shape[2].constant() % heads != 0)) {
    return context.ShapeMismatch(StrCat("input ", what, " is ", x.type(),
                                        ", expected rank 3 and a multiple of ",
                                        heads, " heads",
                                        AttributesOf(context.node(), heads)));
  }
  return context.Reshape(
      x, {shape[0], shape[1], heads, FloorDiv(shape[2], heads)});
}

StatusOr<Value> SplitHeads(NodeContext& context, Value x, int64_t heads,
                           std::string_view what) {
  ENCORE_ASSIGN_OR_RETURN(const Value apart,
                          HeadsApart(context, x, heads, what));
  return context.builder().Transpose(apart, {0, 2, 1, 3});
}

Value MergeHeads(NodeContext& context, Value x) {
  const Value swapped = context.builder().Transpose(x, {0, 2, 1, 3});
  const Shape shape = context.shape(swapped);
  return context.Reshape(swapped, {shape[0], shape[1], shape[2] * shape[3]});
}

}  // namespace encore::onnx
