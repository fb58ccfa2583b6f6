#include "encore/ir/transform/decompose.h"

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompositions.h"
#include "encore/ir/transform/rewrite.h"

namespace encore {
namespace {

using DecomposeFunction = Value (*)(const ops::DecomposeContext&);

constexpr DecomposeFunction kDecompose[] = {
#define ENCORE_FUNCTION_kPrimitive(Family) nullptr
#define ENCORE_FUNCTION_kComposite(Family) ops::Decompose##Family
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  ENCORE_FUNCTION_##level(Family),
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
#undef ENCORE_FUNCTION_kPrimitive
#undef ENCORE_FUNCTION_kComposite
};

}  // namespace

StatusOr<std::vector<Value>> Decompose(GraphBuilder& builder, Op op,
                                       const Attributes& attributes,
                                       std::span<const Value> operands) {
  const DecomposeFunction decompose = kDecompose[static_cast<int>(op)];
  if (decompose == nullptr) {
    return UnimplementedError(StrCat(op, " is a primitive"));
  }
  const Value result = decompose({builder, attributes, operands});
  ENCORE_RETURN_IF_ERROR(builder.status());
  return std::vector<Value>{result};
}

StatusOr<Graph> DecomposeAll(const Graph& graph,
                             const BuilderOptions& options) {
  const auto rewrite =
      [](GraphBuilder& builder, const Graph& from, NodeId node,
         std::span<const Value> operands) -> std::optional<std::vector<Value>> {
    if (from.info(node).level != OpLevel::kComposite) return std::nullopt;
    auto results =
        Decompose(builder, from.op(node), from.attributes(node), operands);
    // The builder keeps the error.
    if (!results.ok()) return std::vector<Value>(from.result_count(node));
    return *std::move(results);
  };
  return RewriteGraph(graph, rewrite, options);
}

}  // namespace encore
