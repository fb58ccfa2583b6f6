#include "encore/opt/tensor/costs.h"

#include <algorithm>
#include <bit>

#include "encore/ir/support/bytes.h"

namespace encore::opt {
namespace {

constexpr int64_t kTypicalExtent = 32;
constexpr double kFunctionFlops = 8, kQuotientFlops = 4;
// A power is a call per element, where other functions are polynomials.
constexpr double kPowerFlops = 100 * kFunctionFlops;

std::vector<int64_t> TypicalSizes(std::span<const Symbol> symbols) {
  std::vector<int64_t> sizes;
  for (const Symbol& symbol : symbols) {
    sizes.push_back(std::clamp(kTypicalExtent, symbol.lower,
                               std::max(symbol.lower, symbol.upper)));
  }
  return sizes;
}

double Count(const Shape& shape, std::span<const int64_t> sizes) {
  double count = 1;
  for (const Dim& dim : shape.dims()) {
    count *= static_cast<double>(
        std::max<int64_t>(dim.Evaluate(sizes).value_or(kTypicalExtent), 0));
  }
  return count;
}

double Bytes(const TensorType& type, std::span<const int64_t> sizes) {
  return Count(type.shape, sizes) * BitWidth(type.dtype) / 8;
}

// What the symbols' sizes make of a node.
class Estimate {
 public:
  Estimate(const CostedNode& node, const Roofline& machine)
      : node_(node), machine_(machine), sizes_(TypicalSizes(node.symbols)) {}

  double Seconds() const {
    const OpInfo& info = Info(node_.op);
    const double result = Bytes(node_.result, sizes_);
    const double elements = Count(node_.result.shape, sizes_);
    if (node_.op == Op::kReshape || node_.op == Op::kBitcast ||
        node_.op == Op::kConstant || info.has(kCheap)) {
      return 0;
    }
    if (info.has(kContraction)) {
      return Kernel(ContractionFlops() / machine_.contraction_flops_per_second,
                    ReadBytes() + result);
    }
    if (info.has(kReduction) && !info.has(kRereads)) {
      const double read = Count(node_.operands[0]->shape, sizes_);
      return Kernel(read / machine_.flops_per_second, result);
    }
    if (info.has(kElementwise)) {
      return elements * Weight(info) / machine_.flops_per_second +
             result / 2 / machine_.bytes_per_second +
             machine_.launch_seconds / 2;
    }
    if (info.has(kMovement) && !info.has(kEndsKernel) && !info.has(kRereads)) {
      return Kernel(0, result / 2) - machine_.launch_seconds / 2;
    }
    if (info.has(kMovement)) return Kernel(0, 2 * result);
    return Kernel(elements / machine_.flops_per_second, ReadBytes() + result);
  }

 private:
  // What is for floats alone is a function, a polynomial or more; what leaves
  // its domain is a quotient or a power.
  static double Weight(const OpInfo& info) {
    if (info.op == Op::kPow) return kPowerFlops;
    if (std::ranges::none_of(info.dtypes, IsInteger)) {
      return kFunctionFlops;
    }
    return info.has(kSensitive) ? kQuotientFlops : 1;
  }

  double Kernel(double compute, double bytes) const {
    return std::max(compute, bytes / machine_.bytes_per_second) +
           machine_.launch_seconds;
  }

  double ReadBytes() const {
    double bytes = 0;
    for (const TensorType* operand : node_.operands) {
      bytes += Bytes(*operand, sizes_);
    }
    return bytes;
  }

  // Each element of the result is a sum over what of the second operand is not
  // in it.
  double ContractionFlops() const {
    const double result = Count(node_.result.shape, sizes_);
    double terms = 1;
    if (const auto* dot = node_.attributes.GetIf<DotGeneralAttrs>()) {
      for (const int64_t axis : dot->contract.lhs) {
        terms *=
            Count({node_.operands[0]->shape[static_cast<int>(axis)]}, sizes_);
      }
    } else if (node_.operands.size() > 1 &&
               node_.operands[1]->shape.rank() > 1) {
      const Shape& kernel = node_.operands[1]->shape;
      terms = Count(kernel, sizes_) / std::max(Count({kernel[0]}, sizes_), 1.0);
    }
    return 2 * result * terms;
  }

  const CostedNode& node_;
  const Roofline& machine_;
  std::vector<int64_t> sizes_;
};

// What a kernel that uses the value reads: repeated elements are read where
// they are, and indices nowhere.
std::optional<ValueId> ReadFor(const Graph& graph, ValueId value) {
  while (graph.info(graph.producer(value)).has(kCheap)) {
    const auto operands = graph.operands(graph.producer(value));
    if (operands.empty()) return std::nullopt;
    value = operands[0];
  }
  return value;
}

bool IsSource(Op op) { return op == Op::kInput || op == Op::kParameter; }

// Stands in the code of kernels.
bool IsNumber(const Graph& graph, ValueId value) {
  return graph.op(graph.producer(value)) == Op::kConstant &&
         graph.shape(value).rank() == 0;
}

}  // namespace

std::optional<double> RooflineCosts::NodeSeconds(const CostedNode& node) const {
  if (IsSource(node.op)) return 0;
  const double seconds = Estimate(node, machine_).Seconds();
  return node.weight_only ? seconds / machine_.runs_per_load : seconds;
}

std::optional<double> Costs::GraphSeconds(const Graph& graph) const {
  const auto cost = CostOf(graph);
  return cost ? std::optional(cost->seconds) : std::nullopt;
}

std::optional<GraphCost> Costs::CostAsCompiled(const Graph& graph) const {
  return CostOf(graph);
}

std::optional<GraphCost> Costs::CostOf(const Graph& graph) const {
  const std::vector<bool> live = LiveNodes(graph);
  const std::vector<bool> weights = WeightOnlyValues(graph);
  double total = 0;
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()] || IsSource(graph.op(node))) continue;
    for (const Graph& body : graph.bodies(node)) {
      const auto cost = CostOf(body);
      if (!cost) return std::nullopt;
      total += cost->seconds;
    }
    // What has other results is the same in all that is compared.
    if (graph.result_count(node) != 1 || !graph.bodies(node).empty() ||
        graph.info(node).has(kNonFlatValues) ||
        graph.type(graph.result(node)).kind != ValueKind::kTensor) {
      continue;
    }
    std::vector<const TensorType*> operands;
    for (const ValueId operand : graph.operands(node)) {
      operands.push_back(&graph.type(operand));
    }
    const auto seconds =
        NodeSeconds({.op = graph.op(node),
                     .attributes = graph.attributes(node),
                     .operands = operands,
                     .result = graph.type(graph.result(node)),
                     .symbols = graph.symbols(),
                     .weight_only = weights[graph.result(node).value()]});
    if (!seconds) return std::nullopt;
    total += *seconds;
  }
  return GraphCost{.seconds = total};
}

uint64_t Costs::PlaceOf(std::string_view) const { return 0; }

std::optional<std::string> Costs::NodeIdentity() const { return std::nullopt; }

std::optional<std::string> RooflineCosts::NodeIdentity() const {
  ByteWriter out;
  out.String("roofline");
  for (const double rate :
       {machine_.bytes_per_second, machine_.contraction_flops_per_second,
        machine_.flops_per_second, machine_.launch_seconds,
        machine_.runs_per_load}) {
    out.Fixed64(std::bit_cast<uint64_t>(rate));
  }
  return out.Take();
}

double TypicalBytes(const TensorType& type, std::span<const Symbol> symbols) {
  return Bytes(type, TypicalSizes(symbols));
}

std::vector<bool> WeightOnlyValues(const Graph& graph) {
  std::vector<bool> weights(graph.value_count());
  for (const NodeId node : Nodes(graph)) {
    const Op op = graph.op(node);
    const OpInfo& info = graph.info(node);
    if (op == Op::kInput || graph.result_count(node) != 1 || info.bodies > 0 ||
        info.has(kNonFlatValues) || MayFail(op, graph.attributes(node))) {
      continue;
    }
    const ValueId result = graph.result(node);
    bool weight = graph.type(result).kind == ValueKind::kTensor &&
                  graph.shape(result).is_constant();
    for (const ValueId operand : graph.operands(node)) {
      weight = weight && weights[operand.value()];
    }
    weights[result.value()] = weight;
  }
  return weights;
}

double WeightBytes(const Graph& graph, const std::vector<bool>& paid) {
  const std::vector<bool> live = LiveNodes(graph);
  const std::vector<bool> weights = WeightOnlyValues(graph);
  std::vector<bool> read(graph.value_count());
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()]) continue;
    const bool is_weight =
        graph.result_count(node) == 1 && weights[graph.result(node).value()];
    if (is_weight) continue;
    for (const ValueId operand : graph.operands(node)) {
      if (!weights[operand.value()]) continue;
      if (const auto from = ReadFor(graph, operand)) read[from->value()] = true;
    }
  }
  for (const Graph::Output& output : graph.outputs()) {
    read[output.value.value()] = weights[output.value.value()];
  }
  for (size_t i = 0; i < paid.size(); ++i) {
    if (paid[i]) read[graph.arguments()[i].value.value()] = false;
  }
  double bytes = 0;
  for (uint32_t value = 0; value < read.size(); ++value) {
    if (!read[value] || IsNumber(graph, ValueId(value))) continue;
    bytes += Bytes(graph.type(ValueId(value)), {});
  }
  return bytes;
}

}  // namespace encore::opt
