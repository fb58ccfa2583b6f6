#include "encore/backends/cpu/vendor/epilogue.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace encore::backends::cpu {
namespace {

Index ToIndex(const Affine& address) {
  Index index;
  index.offset = Dim(address.offset);
  for (const auto& [v, coefficient] : address.terms) {
    index.terms.push_back({v, Dim(coefficient)});
  }
  return index;
}

// The operand as one list of elements.
void MakeFlat(Operand* operand) {
  int64_t elements = 1;
  for (const Dim& dim : operand->dims) elements *= dim.constant();
  operand->dims = {Dim(elements)};
}

// Gives accesses and stores of the epilogue their linear addresses; `sums`: of
// the sums.
void Linearize(const SumRegion& sum, const Affine& sums, Region* epilogue) {
  const std::vector<bool> needed = sum.Needed();
  std::vector<bool> loaded(sum.region().accesses.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] && sum.region().exprs[i].kind == Expr::Kind::kLoad) {
      loaded[sum.region().exprs[i].number] = true;
    }
  }
  for (size_t a = 0; a < epilogue->accesses.size(); ++a) {
    Access& access = epilogue->accesses[a];
    if (access.source == Access::Source::kStage && access.number > 0) {
      --access.number;
      continue;
    }
    const bool of_sums = access.source == Access::Source::kStage;
    // What only the sum reads is not evaluated any more.
    const Affine address = of_sums     ? sums
                           : loaded[a] ? sum.flat().loads[a].address
                                       : Affine();
    access.indices = {ToIndex(address)};
    access.source = Access::Source::kInput;
    if (of_sums) {
      access.number = static_cast<uint32_t>(sum.region().inputs.size());
    }
    access.checked = false;
    access.fill = {};
  }
  for (size_t s = 0; s < epilogue->stages.size(); ++s) {
    for (size_t i = 0; i < epilogue->stages[s].stores.size(); ++i) {
      Store& store = epilogue->stages[s].stores[i];
      store.indices = {ToIndex(sum.flat().stores[s + 1][i].address)};
      store.checked = false;
    }
  }
}

// Makes the epilogue one of a single piece, where each buffer moves evenly from
// piece to piece. `variable`: what runs along the dim that is cut, or -1.
void Slice(const SumRegion& sum, int variable, Region* region,
           VendorProgram* program) {
  VendorProgram& p = *program;
  if (variable < 0 || p.result.dims[p.split] % p.piece != 0) return;
  const auto v = static_cast<uint32_t>(variable);
  for (const Expr& expr : region->exprs) {
    if (expr.kind == Expr::Kind::kVariable && expr.number == v) return;
  }
  const size_t inputs = region->inputs.size();
  std::vector<int64_t> steps(inputs + region->outputs.size(), -1);
  const auto add = [&](size_t buffer, const Index& index, DType dtype) {
    int64_t step = 0;
    for (const Index::Term& term : index.terms) {
      if (term.variable == v) step = term.stride.constant();
    }
    step *= p.piece * BitWidth(dtype) / 8;
    if (step < 0 || (steps[buffer] >= 0 && steps[buffer] != step)) return false;
    steps[buffer] = step;
    return true;
  };
  const std::vector<bool> needed = sum.Needed();
  for (size_t i = 0; i < needed.size(); ++i) {
    const Expr& expr = region->exprs[i];
    if (!needed[i] || expr.kind != Expr::Kind::kLoad) continue;
    const Access& access = region->accesses[expr.number];
    if (access.source != Access::Source::kInput) continue;
    if (!add(access.number, access.indices[0], expr.dtype)) return;
  }
  for (const Stage& stage : region->stages) {
    for (const Store& store : stage.stores) {
      const DType dtype = region->outputs[store.output].dtype;
      if (!add(inputs + store.output, store.indices[0], dtype)) return;
    }
  }
  for (int64_t& step : steps) step = std::max<int64_t>(step, 0);
  region->extents[v] = Dim(p.piece);
  p.epilogue_steps = std::move(steps);
}

}  // namespace

Region EpilogueOf(const SumRegion& sum, const Affine& sums, int64_t elements) {
  Region epilogue = sum.region();
  for (Operand& input : epilogue.inputs) MakeFlat(&input);
  for (Operand& output : epilogue.outputs) MakeFlat(&output);
  Operand operand;
  operand.dims = {Dim(elements)};
  epilogue.inputs.push_back(operand);
  epilogue.stages.erase(epilogue.stages.begin());
  epilogue.contraction.reset();
  for (size_t v = 0; v < epilogue.extents.size(); ++v) {
    epilogue.extents[v] = Dim(sum.flat().extents[v]);
  }
  Linearize(sum, sums, &epilogue);
  return epilogue;
}

Region MakeEpilogue(const SumRegion& sum, int variable,
                    VendorProgram* program) {
  Region epilogue =
      EpilogueOf(sum, sum.sums(), BytesNeeded(program->result) / 4);
  Slice(sum, variable, &epilogue, program);
  return epilogue;
}

}  // namespace encore::backends::cpu
