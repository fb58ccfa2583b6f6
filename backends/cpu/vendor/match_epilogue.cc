#include <algorithm>
#include <functional>
#include <numeric>

#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/vendor/matcher.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Pieces: as many as would be worth a thread each, never by the threads there
// are.
constexpr int64_t kMostPieces = 16;

int64_t Product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1},
                         std::multiplies<>());
}

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

}  // namespace

int64_t Matcher::ChooseSplit() {
  VendorProgram& p = match_.program;
  const std::vector<int64_t>& dims = p.result.dims;
  const size_t rank = dims.size();
  if (p.kind == VendorProgram::Kind::kConvolution) {
    p.split = dims[0] >= 4 ? 0 : 1;
    if (p.split == 0) return 1;
    return p.groups == 1 ? 32 : std::lcm(dims[1] / p.groups, int64_t{16});
  }
  // The longer one of rows and columns, or the batch where there are enough.
  constexpr int64_t kRows = 16, kColumns = 32;
  const bool rows = dims[rank - 2] / kRows > dims[rank - 1] / kColumns;
  const int64_t granule = rows ? kRows : kColumns;
  p.split = static_cast<uint32_t>(rows ? rank - 2 : rank - 1);
  const int64_t enough = std::min<int64_t>(dims[p.split] / granule, 4);
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (dims[d] < enough) continue;
    p.split = static_cast<uint32_t>(d);
    return 1;
  }
  return granule;
}

void Matcher::Cut(bool epilogue) {
  VendorProgram& p = match_.program;
  const int64_t granule = ChooseSplit();
  const bool matmul = p.kind == VendorProgram::Kind::kMatmul;
  const auto sums = static_cast<double>(Product(p.result.dims));
  const auto depth = static_cast<double>(
      matmul ? p.source.dims.back()
             : Product(std::span(p.weights.dims).subspan(1)));
  const double by_flops = 2 * sums * depth / kPieceFlops;
  const double by_bytes =
      // Sums should still be in a core's cache when the epilogue reads them.
      epilogue && matmul ? sums * sizeof(float) / kSecondCacheBytes : 0;
  const auto wanted = static_cast<int64_t>(std::clamp(
      std::max(by_flops, by_bytes), 1.0, static_cast<double>(kMostPieces)));
  const int64_t extent = p.result.dims[p.split];
  const int64_t units = CeilDiv<int64_t>(extent, granule);
  p.piece = std::min(CeilDiv<int64_t>(units, wanted) * granule, extent);
  // Pieces of one extent, where there are such of about that size.
  for (int64_t n = wanted; n <= 2 * wanted && n * granule <= extent; ++n) {
    if (extent % (n * granule) == 0) {
      p.piece = extent / n;
      break;
    }
  }
}

void Matcher::MakeEpilogue() {
  Region epilogue = region_;
  for (Operand& input : epilogue.inputs) MakeFlat(&input);
  for (Operand& output : epilogue.outputs) MakeFlat(&output);
  Operand sums;
  sums.dims = {Dim(BytesNeeded(match_.program.result) / 4)};
  epilogue.inputs.push_back(sums);
  epilogue.stages.erase(epilogue.stages.begin());
  epilogue.contraction.reset();
  for (size_t v = 0; v < epilogue.extents.size(); ++v) {
    epilogue.extents[v] = Dim(flat_->extents[v]);
  }
  Linearize(&epilogue);
  Slice(&epilogue);
  match_.epilogue = std::move(epilogue);
}

void Matcher::Linearize(Region* epilogue) const {
  const std::vector<bool> needed = Needed();
  std::vector<bool> loaded(region_.accesses.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] && region_.exprs[i].kind == Expr::Kind::kLoad) {
      loaded[region_.exprs[i].number] = true;
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
    const Affine address = of_sums     ? sums_
                           : loaded[a] ? flat_->loads[a].address
                                       : Affine();
    access.indices = {ToIndex(address)};
    access.source = Access::Source::kInput;
    if (of_sums) access.number = static_cast<uint32_t>(region_.inputs.size());
    access.checked = false;
    access.fill = {};
  }
  for (size_t s = 0; s < epilogue->stages.size(); ++s) {
    for (size_t i = 0; i < epilogue->stages[s].stores.size(); ++i) {
      Store& store = epilogue->stages[s].stores[i];
      store.indices = {ToIndex(flat_->stores[s + 1][i].address)};
      store.checked = false;
    }
  }
}

void Matcher::Slice(Region* region) {
  VendorProgram& p = match_.program;
  const int variable = result_variables_[p.split];
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
  const std::vector<bool> needed = Needed();
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

}  // namespace encore::backends::cpu
