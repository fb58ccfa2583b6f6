#include "encore/backends/region/work.h"

#include <algorithm>

#include "encore/ir/ops/functions.h"

namespace encore::backends {
namespace {

// A remainder is no more than a division.
bool IsTranscendental(Op op) {
  return op == Op::kLogistic || (op != Op::kRem && FindFunction(op) != nullptr);
}

// How many transcendental functions an operation takes as long as. A power is a
// call of the C library for each element: 1,212 us of 131,072 elements, where
// exp takes 11 (one thread of a CPU with AVX-512).
double Transcendentals(Op op) {
  if (op == Op::kPow) return 100;
  return IsTranscendental(op) ? 1 : 0;
}

double Extent(const Dim& dim, std::span<const int64_t> symbols) {
  return static_cast<double>(
      std::max<int64_t>(0, dim.Evaluate(symbols).value_or(0)));
}

double Bytes(const Operand& operand, std::span<const int64_t> symbols) {
  double bytes = BitWidth(operand.dtype) / 8.0;
  for (const Dim& dim : operand.dims) bytes *= Extent(dim, symbols);
  return bytes;
}

// Bytes in memory for each byte of elements: 1 where there is no padding.
double Spread(const Operand& operand) {
  double spread = 1;
  for (const auto& [dim, size] : operand.layout.blocks) {
    const int64_t extent = operand.dims[dim].constant();
    if (extent <= 0 || extent % size == 0) continue;
    const int64_t blocks = (extent + size - 1) / size;
    spread *= static_cast<double>(blocks * size) / static_cast<double>(extent);
  }
  return spread;
}

double Points(const Region& region, const std::vector<uint32_t>& variables,
              std::span<const int64_t> symbols) {
  double points = 1;
  for (const uint32_t v : variables) {
    points *= Extent(region.extents[v], symbols);
  }
  return points;
}

}  // namespace

Work EstimateWork(const Region& region, std::span<const int64_t> symbols) {
  Work work;
  double rows = 1;
  for (uint32_t v = 0; v < region.outer; ++v) {
    rows *= Extent(region.extents[v], symbols);
  }
  std::vector<double> touched(region.inputs.size());
  std::vector<double> stored(region.outputs.size());
  for (size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    const double points = rows * Points(region, stage.loops, symbols) *
                          Points(region, stage.reduced, symbols);
    std::vector<ExprId> roots = {stage.value};
    for (const Store& store : stage.stores) {
      roots.push_back(store.value);
      for (const Index& index : store.indices) roots.push_back(index.indirect);
      stored[store.output] += points;
    }
    const std::vector<bool> needed = Reachable(region, roots);
    double flops = stage.kind == Stage::Kind::kMap ? 0 : points;
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const Expr& expr = region.exprs[i];
      if (expr.kind == Expr::Kind::kChecked) flops += points;
      if (expr.kind == Expr::Kind::kOp) {
        flops += points;
        work.transcendentals += Transcendentals(expr.op) * points;
      } else if (expr.kind == Expr::Kind::kLoad) {
        const Access& access = region.accesses[expr.number];
        if (access.source == Access::Source::kInput) {
          touched[access.number] += points;
        }
      }
    }
    work.flops += flops;
    // The contraction, or one that it reads, a row for each of its points.
    if (region.contraction.has_value() &&
        (region.contraction->stage == s ||
         (stage.kind == Stage::Kind::kReduce && !stage.loops.empty()))) {
      work.contraction_flops += 2 * points;
    }
  }
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    const Operand& input = region.inputs[i];
    work.read_bytes += std::min(Bytes(input, symbols),
                                touched[i] * BitWidth(input.dtype) / 8.0) *
                       Spread(input);
  }
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    const Operand& output = region.outputs[i];
    work.written_bytes += stored[i] * BitWidth(output.dtype) / 8.0 +
                          Bytes(output, symbols) * (Spread(output) - 1);
  }
  return work;
}

std::vector<int64_t> TypicalSizes(std::span<const Symbol> symbols) {
  constexpr int64_t kLarge = 1 << 16;
  std::vector<int64_t> sizes;
  for (const Symbol& symbol : symbols) {
    sizes.push_back(symbol.upper <= kLarge
                        ? symbol.lower + (symbol.upper - symbol.lower) / 2
                        : std::max<int64_t>(symbol.lower, 64));
  }
  return sizes;
}

}  // namespace encore::backends
