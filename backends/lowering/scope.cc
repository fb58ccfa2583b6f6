#include "encore/backends/lowering/scope.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/lowering/explain_fusion.h"
#include "encore/backends/lowering/fusion.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/lowering/layouts.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/text.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

bool IsArgument(const Graph& graph, NodeId node) {
  return graph.op(node) == Op::kInput || graph.op(node) == Op::kParameter;
}

// Values that follow from parameters, constants and those `arguments` that do;
// not what may fail, which only the run may find out.
std::vector<bool> FindWeights(const Graph& graph,
                              const std::vector<bool>& arguments) {
  std::vector<bool> weights(graph.value_count());
  for (size_t i = 0; i < arguments.size(); ++i) {
    weights[graph.arguments()[i].value.value()] = arguments[i];
  }
  for (const NodeId node : Nodes(graph)) {
    if (graph.result_count(node) != 1) continue;
    const ValueId result = graph.result(node);
    const Op op = graph.op(node);
    if (op == Op::kInput) continue;
    bool weight = op == Op::kParameter || op == Op::kConstant;
    const bool computed = HasRegion(graph, node) && op != Op::kDimValues &&
                          !MayFail(op, graph.attributes(node));
    if (computed || op == Op::kBitcast) {
      weight = graph.shape(result).is_constant();
      for (const ValueId operand : graph.operands(node)) {
        weight = weight && weights[operand.value()];
      }
    }
    weights[result.value()] = weight;
  }
  return weights;
}

// By argument of the bodies of `node`: whether it is the same, and known once
// parameters are, each time they run.
std::vector<bool> BodyWeights(const Graph& graph, NodeId node,
                              const std::vector<bool>& weights) {
  const Graph& body = graph.bodies(node).back();
  const auto operands = graph.operands(node);
  const size_t count = body.arguments().size();
  const size_t first = operands.size() - count;
  size_t carried = 0, elements = 0;  // how many at most change
  if (graph.op(node) == Op::kWhile) {
    carried = count;
  } else if (graph.op(node) == Op::kScan) {
    const ScanAttrs& attrs = graph.attrs<ScanAttrs>(node);
    carried = static_cast<size_t>(attrs.carried);
    elements = count - carried - attrs.captures;
  }
  std::vector<bool> known(count);
  for (size_t i = 0; i < count; ++i) {
    const bool changes =
        i < carried ? body.outputs()[i].value != body.arguments()[i].value
                    : i < carried + elements;
    known[i] = !changes && weights[operands[first + i].value()];
  }
  return known;
}

Status Unsupported(const Graph& graph, NodeId node, const Backend& backend) {
  const TensorType& type = graph.type(graph.result(node));
  return InvalidArgumentError(StrCat("node ", node.value(), " (origin ",
                                     graph.origin(node), "): ", graph.op(node),
                                     " to ", type.ToString(graph.symbols()),
                                     " has no kernel on ", backend.name()));
}

// Whether it depends on a symbol that is known before a replay.
bool IsSymbolic(const Graph& graph, const Shape& shape) {
  std::vector<Dim> known;
  for (const Symbol& symbol : graph.symbols()) {
    const auto number = static_cast<uint32_t>(known.size());
    known.push_back(symbol.at_run_time ? Dim(1) : Dim::OfSymbol(number));
  }
  return !shape.Substitute(known).is_constant();
}

// A backend without symbolic sizes gets none that a replay binds.
Status CheckNoSymbolicSizes(const Graph& graph, const Backend& backend) {
  if (backend.supports_symbolic_sizes()) return OkStatus();
  for (const NodeId node : Nodes(graph)) {
    for (int i = 0; i < graph.result_count(node); ++i) {
      const Shape& shape = graph.shape(graph.result(node, i));
      if (shape.is_constant() || !IsSymbolic(graph, shape)) continue;
      return InvalidArgumentError(
          StrCat("node ", node.value(), " has symbolic sizes, which ",
                 backend.name(), " does not take: specialize the graph first"));
    }
  }
  return OkStatus();
}

// As Step::origins has them.
std::vector<uint32_t> OriginsOf(const Graph& graph,
                                std::span<const NodeId> nodes) {
  std::vector<uint32_t> failing;
  std::set<uint32_t> others;
  for (const NodeId node : nodes) {
    const std::optional<uint32_t> origin = StencilNumber(graph.origin(node));
    if (MayFail(graph.op(node), graph.attributes(node))) {
      failing.push_back(origin.value_or(UINT32_MAX));
    } else if (origin.has_value()) {
      others.insert(*origin);
    }
  }
  for (const uint32_t origin : failing) others.erase(origin);
  failing.insert(failing.end(), others.begin(), others.end());
  return failing;
}

// Those of `nodes`, as one region; its layouts and number come later.
StatusOr<ScopeKernel> MakeKernel(const Graph& graph, const Group& group,
                                 KernelSite site, const Placement& placement) {
  std::optional<BuiltRegion> built =
      BuildRegion(graph, group.nodes, group.outputs);
  if (!built.has_value()) {
    return Unsupported(graph, group.nodes.back(),
                       *placement.backends[site.backend]);
  }
  ScopeKernel kernel;
  kernel.site = site;
  kernel.built = *std::move(built);
  kernel.nodes = group.nodes;
  kernel.origins = OriginsOf(graph, group.nodes);
  return kernel;
}

StatusOr<std::vector<Group>> PartitionOf(const Graph& graph,
                                         const FusionContext& context,
                                         const CompileOptions& options,
                                         const PartitionOptions& partition,
                                         PartitionReport* report) {
  if (options.optimizer == Optimizer::kEGraph) {
    return ChoosePartition(graph, context, partition, report);
  }
  GroupGraph groups(graph, context);
  std::vector<Group> greedy = GreedyPartition(&groups);
  if (report != nullptr) *report = ReportOf(greedy, partition, &groups);
  return greedy;
}

std::string Explain(const Graph& graph, const FusionContext& context,
                    const Placement& placement,
                    std::span<const Group> partition,
                    const LoweringReport& report) {
  FusionTextOptions text;
  text.name = [&](NodeId node) { return report.name(graph.origin(node)); };
  text.backend = [&](int number) {
    return std::string(placement.backends[number]->name());
  };
  GroupGraph groups(graph, context);
  return ExplainFusion(partition, &groups, text);
}

// The copies between layouts.
std::vector<LayoutReport::Change> ChangesIn(const Scope& scope,
                                            const LoweringReport& report) {
  std::vector<LayoutReport::Change> changes;
  for (const ScopeKernel& kernel : scope.kernels) {
    if (!kernel.nodes.empty()) continue;
    const NodeId maker = scope.graph->producer(kernel.built.inputs[0]);
    changes.push_back({.value = report.name(scope.graph->origin(maker)),
                       .from = ToText(kernel.built.region.inputs[0].layout),
                       .to = ToText(kernel.built.region.outputs[0].layout),
                       .prepare = kernel.site.prepare});
  }
  return changes;
}

// Makes the kernels of `scope`; `report` may be null.
Status CutAndLayOut(const FusionContext& context, const Placement& placement,
                    const CompileOptions& options,
                    const PartitionOptions& partition, KernelTable* table,
                    LoweringReport* report, Scope* scope) {
  const Graph& graph = *scope->graph;
  const bool tells = report != nullptr;
  ScopeReport told;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Group> groups,
                          PartitionOf(graph, context, options, partition,
                                      tells ? &told.partition : nullptr));
  for (const Group& group : groups) {
    ENCORE_ASSIGN_OR_RETURN(
        ScopeKernel kernel,
        MakeKernel(graph, group, *context.sites[group.nodes.back().value()],
                   placement));
    scope->kernels.push_back(std::move(kernel));
  }
  if (options.optimizer == Optimizer::kEGraph) {
    ENCORE_RETURN_IF_ERROR(ChooseLayouts(graph, scope->weights, table,
                                         &scope->kernels,
                                         tells ? &told.layouts : nullptr));
  }
  if (!tells) return OkStatus();
  told.place = report->place;
  told.kernels = groups.size();
  told.layouts.changes = ChangesIn(*scope, *report);
  if (report->explain) {
    told.fusion = Explain(graph, context, placement, groups, *report);
  }
  report->scopes.push_back(std::move(told));
  return OkStatus();
}

// Says in the report, which may be null, what is at hand while it lives.
class PlaceInReport {
 public:
  PlaceInReport(const Graph& graph, NodeId node, size_t body,
                LoweringReport* report)
      : report_(report) {
    if (report == nullptr) return;
    before_ = report->place;
    StrAppend(&report->place, report->place.empty() ? "" : ", ", "body ", body,
              " of ", graph.info(node).mnemonic, " ",
              report->name(graph.origin(node)));
  }
  ~PlaceInReport() {
    if (report_ != nullptr) report_->place = before_;
  }
  PlaceInReport(const PlaceInReport&) = delete;
  PlaceInReport& operator=(const PlaceInReport&) = delete;

 private:
  LoweringReport* const report_;
  std::string before_;
};

// Gives the kernels of `scope` their numbers in `table`.
Status AddKernels(const Placement& placement, KernelTable* table,
                  Scope* scope) {
  for (ScopeKernel& kernel : scope->kernels) {
    const std::vector<bool> weights =
        WeightInputs(scope->weights, kernel.built, kernel.site);
    const std::optional<int> number =
        table->Add(kernel.built, weights, kernel.site.backend);
    if (!number.has_value()) {
      ENCORE_CHECK(!kernel.nodes.empty()) << "a copy without a kernel";
      return Unsupported(*scope->graph, kernel.nodes.back(),
                         *placement.backends[kernel.site.backend]);
    }
    kernel.kernel = *number;
  }
  return OkStatus();
}

}  // namespace

bool IsCheck(const Graph& graph, NodeId node) {
  return graph.op(node) == Op::kAssertion ||
         graph.op(node) == Op::kDefineSymbols;
}

bool IsCheckOrView(const Graph& graph, NodeId node) {
  return IsCheck(graph, node) || IsView(graph, node);
}

namespace {

// MakerOf `value`, a result of `node`.
const ScopeKernel* MakerInBodies(const Scope& scope, NodeId node,
                                 const std::vector<Scope>& bodies,
                                 ValueId value) {
  const Graph& graph = *scope.graph;
  int result = 0;
  while (graph.result(node, result) != value) ++result;
  const Graph& body = *bodies.back().graph;
  const ValueId output = body.outputs()[result].value;
  if (graph.op(node) == Op::kIf) {
    const ScopeKernel* maker = MakerOf(bodies.back(), output);
    const ScopeKernel* other =
        MakerOf(bodies[0], bodies[0].graph->outputs()[result].value);
    const bool agree = maker != nullptr && other != nullptr &&
                       maker->site.backend == other->site.backend;
    return agree ? maker : nullptr;
  }
  // What a loop hands on as it was.
  const bool carried = graph.op(node) == Op::kWhile ||
                       result < graph.attrs<ScanAttrs>(node).carried;
  if (carried && body.arguments()[result].value == output) {
    return MakerOf(scope, graph.operand(node, result));
  }
  return MakerOf(bodies.back(), output);
}

// The source of `value` behind checks and views, as far as `end`.
ValueId SourceOf(const Graph& graph, ValueId value, ValueId end) {
  while (value != end && IsCheckOrView(graph, graph.producer(value))) {
    value = graph.operand(graph.producer(value), 0);
  }
  return value;
}

}  // namespace

int BodyArgumentOf(const Graph& graph, NodeId node, int operand) {
  // An If's first operand is its selector.
  return graph.op(node) == Op::kIf ? operand - 1 : operand;
}

const ScopeKernel* MakerOf(const Scope& scope, ValueId value) {
  const Graph& graph = *scope.graph;
  for (;;) {
    for (const ScopeKernel& kernel : scope.kernels) {
      const auto& outputs = kernel.built.outputs;
      if (std::ranges::find(outputs, value) == outputs.end()) continue;
      return kernel.site.prepare ? nullptr : &kernel;
    }
    const NodeId producer = graph.producer(value);
    if (!IsCheckOrView(graph, producer)) {
      const auto bodies = scope.bodies.find(producer);
      if (bodies == scope.bodies.end()) return nullptr;
      return MakerInBodies(scope, producer, bodies->second, value);
    }
    value = graph.operand(producer, 0);
  }
}

const ScopeKernel* FirstUserOf(const Scope& scope, ValueId value) {
  const Graph& graph = *scope.graph;
  for (const ScopeKernel& kernel : scope.kernels) {
    if (kernel.site.prepare) continue;
    for (const ValueId input : kernel.built.inputs) {
      if (SourceOf(graph, input, value) == value) return &kernel;
    }
  }
  for (const auto& [node, bodies] : scope.bodies) {
    for (int i = 0; i < static_cast<int>(graph.operands(node).size()); ++i) {
      const int argument = BodyArgumentOf(graph, node, i);
      if (argument < 0 ||
          SourceOf(graph, graph.operand(node, i), value) != value) {
        continue;
      }
      for (const Scope& body : bodies) {
        const ValueId inner = body.graph->arguments()[argument].value;
        const ScopeKernel* user = FirstUserOf(body, inner);
        if (user != nullptr) return user;
      }
    }
  }
  return nullptr;
}

StatusOr<Scope> MakeScope(const Graph& graph,
                          const std::vector<bool>& known_arguments,
                          const Placement& placement,
                          const CompileOptions& options, KernelTable* table,
                          LoweringReport* report,
                          const PartitionOptions& partition) {
  for (const Backend* backend : placement.backends) {
    ENCORE_RETURN_IF_ERROR(CheckNoSymbolicSizes(graph, *backend));
  }
  Scope scope;
  scope.graph = &graph;
  scope.weights = FindWeights(graph, known_arguments);
  const std::vector<bool> live = LiveNodes(graph);
  FusionContext context;
  context.fuse = options.fuse;
  context.sites.resize(graph.node_count());
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()] || IsArgument(graph, node)) continue;
    const Op op = graph.op(node);
    // A bitcast is a view that no kernel takes in.
    if (op == Op::kConstant || op == Op::kBitcast || IsCheck(graph, node)) {
      continue;
    }
    for (const Graph& body : graph.bodies(node)) {
      const PlaceInReport place(graph, node, scope.bodies[node].size(), report);
      ENCORE_ASSIGN_OR_RETURN(
          Scope inner, MakeScope(body, BodyWeights(graph, node, scope.weights),
                                 placement, options, table, report, partition));
      scope.bodies[node].push_back(std::move(inner));
    }
    if (!graph.bodies(node).empty() || graph.info(node).has(kNonFlatValues))
      continue;
    const int backend =
        placement.Of(StencilNumber(graph.origin(node)).value_or(UINT32_MAX));
    if (!HasRegion(graph, node)) {
      return Unsupported(graph, node, *placement.backends[backend]);
    }
    const bool prepare = scope.weights[graph.result(node).value()];
    context.sites[node.value()] = KernelSite{backend, prepare};
  }
  context.seconds = [&](const BuiltRegion& built, KernelSite site) {
    return table->Seconds(built, WeightInputs(scope.weights, built, site),
                          site.backend);
  };
  context.calls = CallsPerLoad(options);
  ENCORE_RETURN_IF_ERROR(CutAndLayOut(context, placement, options, partition,
                                      table, report, &scope));
  ENCORE_RETURN_IF_ERROR(AddKernels(placement, table, &scope));
  return scope;
}

}  // namespace encore::backends
