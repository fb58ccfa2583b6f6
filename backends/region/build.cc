#include "encore/backends/region/build.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "encore/backends/region/tracer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/types/dim_symbols.h"

namespace encore::backends {
namespace {

constexpr int kMaxSplits = 16;

// Calls visit(Dim&) for every dim of `region`.
template <typename Visit>
void ForEachDim(Region* region, Visit visit) {
  const auto each = [&visit](std::vector<Dim>& dims) {
    for (Dim& dim : dims) visit(dim);
  };
  const auto indices = [&visit](Indices& list) {
    for (Index& index : list) {
      visit(index.offset);
      for (Index::Term& term : index.terms) visit(term.stride);
    }
  };
  each(region->extents);
  for (Operand& operand : region->inputs) each(operand.dims);
  for (Operand& operand : region->outputs) each(operand.dims);
  for (Access& access : region->accesses) indices(access.indices);
  for (Expr& expr : region->exprs) visit(expr.dim);
  for (IndexCheck& check : region->checks) {
    visit(check.count);
    visit(check.extent);
    visit(check.position.offset);
    for (Index::Term& term : check.position.terms) visit(term.stride);
  }
  for (Stage& stage : region->stages) {
    for (Store& store : stage.stores) indices(store.indices);
  }
  if (region->contraction.has_value()) {
    each(region->contraction->lhs_dims);
    each(region->contraction->rhs_dims);
    each(region->contraction->result_dims);
  }
}

// The graph's symbols become the region's own.
std::vector<Dim> RenumberSymbols(Region* region) {
  std::set<uint32_t> used;
  ForEachDim(region, [&used](Dim& dim) {
    ForEachSymbol(dim, [&used](uint32_t symbol) { used.insert(symbol); });
  });
  std::vector<Dim> args, replacements;
  for (const uint32_t symbol : used) {
    while (replacements.size() <= symbol) replacements.push_back(Dim(0));
    replacements[symbol] = Dim::OfSymbol(static_cast<uint32_t>(args.size()));
    args.push_back(Dim::OfSymbol(symbol));
  }
  region->symbols = static_cast<uint32_t>(args.size());
  if (!args.empty()) {
    ForEachDim(region, [&replacements](Dim& dim) {
      if (!dim.is_constant()) dim = dim.Substitute(replacements);
    });
  }
  return args;
}

// Variables in the order of `order`, by their old numbers.
void RenumberVariables(Region* region, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto list = [&place](std::vector<uint32_t>& variables) {
    for (uint32_t& v : variables) v = place[v];
  };
  const auto renumber = [&place](Index& index) {
    for (Index::Term& term : index.terms) term.variable = place[term.variable];
    std::sort(index.terms.begin(), index.terms.end(),
              [](const Index::Term& a, const Index::Term& b) {
                return a.variable < b.variable;
              });
  };
  const auto indices = [&renumber](Indices& all) {
    for (Index& index : all) renumber(index);
  };
  std::vector<Dim> extents;
  for (const uint32_t v : order) extents.push_back(region->extents[v]);
  region->extents = std::move(extents);
  for (Access& access : region->accesses) indices(access.indices);
  for (Expr& expr : region->exprs) {
    if (expr.kind == Expr::Kind::kVariable) expr.number = place[expr.number];
  }
  for (IndexCheck& check : region->checks) renumber(check.position);
  for (Stage& stage : region->stages) {
    list(stage.loops);
    list(stage.reduced);
    for (Store& store : stage.stores) indices(store.indices);
  }
  if (region->contraction.has_value()) {
    Contraction& c = *region->contraction;
    list(c.batch), list(c.m), list(c.n), list(c.k);
  }
}

std::vector<uint32_t> VariablesOf(const Indices& indices) {
  std::vector<uint32_t> variables;
  for (const Index& index : indices) {
    for (const Index::Term& term : index.terms) {
      if (std::find(variables.begin(), variables.end(), term.variable) ==
          variables.end()) {
        variables.push_back(term.variable);
      }
    }
  }
  return variables;
}

bool Contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Builds one region with given cuts.
class Attempt {
 public:
  Attempt(const Graph& graph, std::span<const NodeId> nodes,
          std::span<const ValueId> outputs, Splits splits)
      : graph_(graph), outputs_(outputs), tracer_(graph, nodes, splits) {}

  std::optional<BuiltRegion> Run() {
    const ValueId primary = *std::max_element(outputs_.begin(), outputs_.end());
    const NodeId root = graph_.producer(primary);
    bool done = false;
    if (graph_.op(root) == Op::kScatter) {
      done = outputs_.size() == 1 && tracer_.TraceScatter(root);
    } else if (graph_.op(root) == Op::kConcat && outputs_.size() == 1) {
      done = TraceConcat(root);
    } else {
      done = TraceOutputs(primary);
    }
    if (!done) return std::nullopt;
    return Finish();
  }

  const std::optional<Splits>& better_splits() const {
    return tracer_.better_splits();
  }

 private:
  void AddOutput(ValueId value) {
    tracer_.region().outputs.push_back(
        {graph_.dtype(value), graph_.shape(value).dims(), {}});
  }

  // Rows of the stages that there are, or what they have in common where
  // contractions read one another; otherwise nothing where they differ.
  std::optional<std::vector<uint32_t>> OuterOf(
      const std::vector<uint32_t>& fallback) const {
    if (tracer_.rows().empty()) return fallback;
    std::vector<uint32_t> common = tracer_.rows().front();
    for (const std::vector<uint32_t>& row : tracer_.rows()) {
      if (row == common) continue;
      if (!tracer_.chained()) return std::nullopt;
      std::erase_if(common, [&](uint32_t v) { return !Contains(row, v); });
    }
    // In the order of the primary output's dims.
    std::vector<uint32_t> outer;
    for (const uint32_t v : fallback) {
      if (Contains(common, v)) outer.push_back(v);
    }
    return outer.size() == common.size() ? std::optional(outer) : std::nullopt;
  }

  // What else the rows of stages have becomes their loops, whose points the
  // loads of their results are of. False where a scan has some.
  bool LoopOverRows() {
    Region& region = tracer_.region();
    for (size_t s = 0; s < tracer_.rows().size(); ++s) {
      Stage& stage = region.stages[s];
      std::vector<uint32_t> loops = tracer_.rows()[s];
      std::erase_if(loops, [&](uint32_t v) { return Contains(outer_, v); });
      if (loops.empty()) continue;
      if (stage.kind == Stage::Kind::kScan) return false;
      stage.loops = std::move(loops);
      Indices at;
      for (const uint32_t v : stage.loops) at.push_back(VariableIndex(v));
      for (Access& access : region.accesses) {
        if (access.source == Access::Source::kStage && access.number == s) {
          access.indices = at;
        }
      }
    }
    return true;
  }

  bool TraceOutputs(ValueId primary) {
    const Indices at = tracer_.RootIndices(primary);
    const std::vector<uint32_t> all = VariablesOf(at);
    std::map<ValueId, Indices> places = {{primary, at}};
    std::map<ValueId, ExprId> values;
    const std::optional<ExprId> value = tracer_.ValueAt(primary, at);
    if (!value.has_value()) return false;
    values[primary] = *value;
    for (const ValueId output : outputs_) {
      if (output == primary) continue;
      const auto traced = tracer_.traced().find(output);
      Indices place;
      if (traced != tracer_.traced().end()) {
        place = traced->second;
      } else if (graph_.shape(output) == graph_.shape(primary)) {
        place = at;
      } else {
        return false;
      }
      const std::optional<ExprId> other = tracer_.ValueAt(output, place);
      if (!other.has_value()) return false;
      places[output] = place;
      values[output] = *other;
    }
    const auto outer = OuterOf(all);
    if (!outer.has_value()) return false;
    outer_ = *outer;
    if (!LoopOverRows()) return false;
    for (const ValueId output : outputs_) {
      AddOutput(output);
      if (!AddStore(places[output], values[output])) return false;
    }
    return true;
  }

  // Stores the last output in a map stage over what `place` uses beside the
  // outer variables. `place` must reach every element once.
  bool AddStore(const Indices& place, ExprId value) {
    const Region& region = tracer_.region();
    const uint32_t output = static_cast<uint32_t>(region.outputs.size() - 1);
    Dim points(1), elements(1);
    const std::vector<uint32_t> variables = VariablesOf(place);
    for (const uint32_t v : variables) points = points * region.extents[v];
    for (const Dim& dim : region.outputs[output].dims) {
      elements = elements * dim;
    }
    if (!(points == elements)) return false;
    for (size_t d = 0; d < place.size(); ++d) {
      if (!Covers(place[d], region.outputs[output].dims[d], region.extents)) {
        return false;
      }
    }
    for (const uint32_t v : outer_) {
      if (!Contains(variables, v)) return false;
    }
    std::vector<uint32_t> loops;
    for (const uint32_t v : variables) {
      if (!Contains(outer_, v)) loops.push_back(v);
    }
    std::vector<Stage>& stages = tracer_.region().stages;
    const Store store{.output = output, .value = value, .indices = place};
    for (Stage& stage : stages) {
      if (!stage.stores.empty() && stage.loops == loops) {
        stage.stores.push_back(store);
        return true;
      }
    }
    Stage stage{.kind = Stage::Kind::kMap};
    stage.loops = loops;
    stage.stores.push_back(store);
    stages.push_back(std::move(stage));
    return true;
  }

  // A map stage per operand, which copies it to its place.
  bool TraceConcat(NodeId node) {
    const ValueId result = graph_.result(node);
    const int axis = static_cast<int>(graph_.attrs<AxisAttrs>(node).axis);
    const Indices at = tracer_.RootIndices(result);
    Indices kept = at;
    kept.erase(kept.begin() + axis);
    outer_ = VariablesOf(kept);
    AddOutput(result);
    Dim start(0);
    int number = 0;
    std::vector<Stage> stages;
    for (const ValueId operand : graph_.operands(node)) {
      const Dim& extent = graph_.shape(operand)[axis];
      Stage stage{.kind = Stage::Kind::kMap};
      Index along;
      if (!(extent == Dim(1))) {
        stage.loops = {
            tracer_.NewVariable(extent, {2 * node.value() + 1, number}, 0)};
        along = VariableIndex(stage.loops[0]);
      }
      Indices from = at;
      from[axis] = along;
      const std::optional<ExprId> value = tracer_.ValueAt(operand, from);
      if (!value.has_value() || !tracer_.rows().empty()) return false;
      Indices to = from;
      to[axis] = Plus(along, start);
      stage.stores.push_back({.output = 0, .value = *value, .indices = to});
      stages.push_back(std::move(stage));
      start = start + extent;
      ++number;
    }
    tracer_.region().stages = std::move(stages);
    return true;
  }

  BuiltRegion Finish() {
    Region& region = tracer_.region();
    region.outer = static_cast<uint32_t>(outer_.size());
    std::vector<uint32_t> order = outer_;
    for (uint32_t v = 0; v < region.extents.size(); ++v) {
      if (!Contains(outer_, v)) order.push_back(v);
    }
    RenumberVariables(&region, order);
    BuiltRegion built;
    built.args = RenumberSymbols(&region);
    built.region = std::move(region);
    built.inputs = tracer_.inputs();
    built.outputs.assign(outputs_.begin(), outputs_.end());
    return built;
  }

  const Graph& graph_;
  std::span<const ValueId> outputs_;
  Tracer tracer_;
  std::vector<uint32_t> outer_;
};

}  // namespace

bool HasRegion(const Graph& graph, NodeId node) {
  const OpInfo& info = graph.info(node);
  if (info.level != OpLevel::kPrimitive || info.has(kNoKernel) ||
      info.has(kBodies) || graph.result_count(node) != 1) {
    return false;
  }
  const auto computed = [&graph](ValueId value) {
    const TensorType& type = graph.type(value);
    return type.kind == ValueKind::kTensor && !IsString(type.dtype);
  };
  const std::span<const ValueId> operands = graph.operands(node);
  return computed(graph.result(node)) &&
         std::all_of(operands.begin(), operands.end(), computed);
}

std::optional<BuiltRegion> BuildRegion(const Graph& graph,
                                       std::span<const NodeId> nodes,
                                       std::span<const ValueId> outputs) {
  ENCORE_CHECK(!outputs.empty());
  if (nodes.size() > kMaxRegionNodes) return std::nullopt;
  Splits splits;
  for (int i = 0; i < kMaxSplits; ++i) {
    Attempt attempt(graph, nodes, outputs, splits);
    std::optional<BuiltRegion> built = attempt.Run();
    if (built.has_value() || !attempt.better_splits().has_value()) return built;
    splits = *attempt.better_splits();
  }
  return std::nullopt;
}

}  // namespace encore::backends
