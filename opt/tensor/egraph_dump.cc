#include "encore/opt/tensor/egraph_dump.h"

#include <cstdint>

#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// What a node is, for people.
std::string OpText(const Extraction& from, eg::NodeId node) {
  const TensorOp& op = from.tensors.op(node);
  switch (op.kind) {
    case TensorOp::Kind::kArgument:
      return StrCat("argument ",
                    from.graph.arguments()[from.tensors.number(node)].name);
    case TensorOp::Kind::kAnchor:
      return StrCat("anchor ",
                    Mnemonic(from.graph.op(NodeId(from.tensors.number(node)))));
    case TensorOp::Kind::kPart:
      return "part";
    case TensorOp::Kind::kOp:
      break;
  }
  std::string text(Mnemonic(op.op));
  if (op.op != Op::kConstant) {  // which may have any number of elements
    text::AppendAttributes(&text, from.tensors.attributes(node),
                           from.tensors.symbols());
  }
  return text;
}

}  // namespace

Status EGraphDump::Extracted(const Extraction& extraction) {
  const extract::Problem& from = extraction.dag.problem;
  extract::Problem& to = problem_.problem;
  const std::string prefix = egraphs_ == 0 ? "" : StrCat(egraphs_, ".");
  const uint32_t first_class = to.num_classes();
  for (uint32_t c = 0; c < from.num_classes(); ++c) {
    problem_.class_names.push_back(
        StrCat(prefix, "c", extraction.dag.class_of[c].value()));
    for (uint32_t n = from.class_start[c]; n < from.class_start[c + 1]; ++n) {
      std::vector<extract::ClassIndex> children;
      for (const extract::ClassIndex child : from.children(n)) {
        children.push_back(first_class + child);
      }
      to.AddNode(from.cost[n], children);
      const eg::NodeId node = extraction.dag.node_of[n];
      problem_.node_names.push_back(StrCat(prefix, "n", node.value()));
      ops_.push_back(OpText(extraction, node));
    }
    to.FinishClass();
  }
  for (const extract::ClassIndex root : from.roots) {
    to.roots.push_back(first_class + root);
  }
  const extract::Result& result = extraction.result;
  if (result.feasible) cost_ += result.cost;
  bound_ += result.lower_bound.value_or(0);
  ++egraphs_;
  return OkStatus();
}

}  // namespace encore::opt
