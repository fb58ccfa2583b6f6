#include "encore/opt/tensor/explain/program_terms.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/egraph.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;
using TermId = eg::TermStore::Id;

class GraphTerms {
 public:
  GraphTerms(const Extraction& extraction, eg::TermStore* terms)
      : graph_(extraction.graph),
        program_(extraction.program),
        tensors_(extraction.tensors),
        terms_(*terms),
        values_(graph_.value_count()) {}

  std::vector<TermId> Run() {
    std::vector<TermId> roots;
    const std::vector<bool> live = LiveNodes(graph_);
    for (const NodeId node : Nodes(graph_)) {
      if (!live[node.value()]) continue;
      const Op op = graph_.op(node);
      if (op == Op::kInput || op == Op::kParameter) {
        const ValueId value = graph_.result(node);
        values_[value.value()] =
            Make("argument", {},
                 I64(graph_.argument(value) - graph_.arguments().data()));
      } else if (program_.is_anchor(node)) {
        roots.push_back(Anchor(node));
      } else {
        std::vector<uint32_t> columns = Operands(node);
        const eg::OpId id = tensors_.OpOf(op, static_cast<int>(columns.size()));
        if (tensors_.op(id).has_attributes) {
          columns.push_back(tensors_.InternAttributes(graph_.attributes(node)));
        }
        values_[graph_.result(node).value()] = terms_.Make({id, columns});
      }
    }
    for (const Graph::Output& output : graph_.outputs()) {
      roots.push_back(values_[output.value.value()]);
    }
    return roots;
  }

 private:
  eg::Value I64(int64_t number) {
    return tensors_.graph().language().literals().I64(number);
  }
  TermId Make(const std::string& name, std::vector<uint32_t> columns,
              eg::Value number) {
    columns.push_back(number);
    return terms_.Make(
        {*tensors_.graph().language().FindOp(name), std::move(columns)});
  }

  std::vector<uint32_t> Operands(NodeId node) const {
    std::vector<uint32_t> operands;
    for (const ValueId operand : graph_.operands(node)) {
      operands.push_back(values_[operand.value()]);
    }
    return operands;
  }

  TermId Anchor(NodeId node) {
    const std::vector<uint32_t> operands = Operands(node);
    const TermId tuple =
        Make(StrCat("anchor.", operands.size()), operands, I64(node.value()));
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId value = graph_.result(node, i);
      values_[value.value()] = Make("part", {tuple}, I64(value.value()));
    }
    return tuple;
  }

  const Graph& graph_;
  const TensorProgram& program_;
  TensorEGraph& tensors_;
  eg::TermStore& terms_;
  std::vector<TermId> values_;  // by value
};

}  // namespace

std::vector<TermId> TermsOfGraph(const Extraction& extraction,
                                 eg::TermStore* terms) {
  return GraphTerms(extraction, terms).Run();
}

std::vector<TermId> TermsOfChoice(const Extraction& extraction,
                                  eg::TermStore* terms) {
  const extract::Problem& problem = extraction.dag.problem;
  const eg::EGraph& graph = extraction.tensors.graph();
  std::vector<std::optional<TermId>> known(problem.num_classes());
  std::vector<extract::ClassIndex> open;
  std::vector<TermId> roots;
  for (const extract::ClassIndex root : problem.roots) {
    open.push_back(root);
    while (!open.empty()) {
      const extract::ClassIndex c = open.back();
      const size_t depth = open.size();
      if (!known[c]) {
        const extract::NodeIndex n = extraction.result.choice[c];
        for (const extract::ClassIndex child : problem.children(n)) {
          if (!known[child]) open.push_back(child);
        }
        if (open.size() > depth) continue;
        // Class columns are in the order of the children.
        const eg::NodeId node = extraction.dag.node_of[n];
        const eg::OpInfo& op = graph.language().op(graph.op(node));
        eg::TermStore::Term term{graph.op(node), {}};
        size_t child = 0;
        for (size_t k = 0; k < op.args.size(); ++k) {
          term.args.push_back(graph.language().has_terms(op.args[k])
                                  ? *known[problem.children(n)[child++]]
                                  : graph.args(node)[k]);
        }
        known[c] = terms->Make(std::move(term));
      }
      open.pop_back();
    }
    roots.push_back(*known[root]);
  }
  return roots;
}

}  // namespace encore::opt
