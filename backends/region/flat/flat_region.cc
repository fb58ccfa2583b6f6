#include "encore/backends/region/flat/flat_region.h"

#include <algorithm>
#include <numeric>

#include "encore/backends/region/flat/dim_place.h"
#include "encore/backends/region/flat/merge_variables.h"
#include "encore/backends/region/work.h"

namespace encore::backends {
namespace {

// What the region's symbols may be, and values of theirs to plan for.
struct Symbols {
  std::vector<Symbol> bounds;  // 0 and more, each
  std::vector<int64_t> typical;

  std::optional<Size> SizeOf(const Dim& dim) const {
    if (dim.is_constant()) return Size(dim.constant());
    const std::optional<int64_t> value = dim.Evaluate(typical);
    if (!value) return std::nullopt;
    return Size(dim, *value);
  }
  std::optional<std::vector<Size>> SizesOf(const std::vector<Dim>& dims) const {
    std::vector<Size> sizes;
    for (const Dim& dim : dims) {
      const std::optional<Size> size = SizeOf(dim);
      if (!size) return std::nullopt;
      sizes.push_back(*size);
    }
    return sizes;
  }
  bool IsNegative(const Size& size) const {
    return size.is_constant() ? size < 0 : size.dim().UpperBound(bounds) < 0;
  }
  bool MayBeNegative(const Size& size) const {
    return size.is_constant() ? size < 0 : size.dim().LowerBound(bounds) < 0;
  }
};

// Whether the affine value surely lies in [0, extent) over the variables'
// extents.
bool StaysWithin(const Affine& affine, const Size& extent,
                 const std::vector<Size>& extents, const Symbols& symbols) {
  Size low = affine.offset, high = affine.offset;
  for (const auto& [variable, coefficient] : affine.terms) {
    const Size span = coefficient * (extents[variable] - 1);
    if (symbols.MayBeNegative(coefficient)) {
      if (!symbols.IsNegative(coefficient)) return false;
      low += span;
    } else {
      high += span;
    }
  }
  return !symbols.MayBeNegative(low) &&
         !symbols.MayBeNegative(extent - 1 - high);
}

std::optional<Affine> ToAffine(const Index& index, const Symbols& symbols) {
  Affine affine;
  const std::optional<Size> offset = symbols.SizeOf(index.offset);
  if (!offset) return std::nullopt;
  affine.offset = *offset;
  for (const Index::Term& term : index.terms) {
    const std::optional<Size> stride = symbols.SizeOf(term.stride);
    if (!stride) return std::nullopt;
    affine.AddTerm(term.variable, *stride);
  }
  return affine;
}

// The address of an access to an operand whose blocks are its outermost dim:
// (o / block) * rest * block + … + o % block.
std::optional<FlatAccess> FlattenPanel(const Access& access,
                                       const Operand& operand,
                                       const std::vector<Size>& dims,
                                       const Symbols& symbols) {
  const Layout& layout = operand.layout;
  if (access.checked || layout.blocks.size() != 1 ||
      layout.DimAt(0) != layout.blocks[0].dim) {
    return std::nullopt;
  }
  const int64_t block = layout.blocks[0].size;
  FlatAccess flat;
  Size stride = block;
  for (size_t i = dims.size(); i-- > 0;) {
    const int dim = layout.DimAt(i);
    const std::optional<Affine> affine = ToAffine(access.indices[dim], symbols);
    if (!affine || access.indices[dim].indirect.valid() ||
        access.indices[dim].divisor != 1) {
      return std::nullopt;
    }
    if (i == 0) {
      if (!(affine->offset == 0) || affine->terms.size() != 1 ||
          !(affine->terms[0].second == 1)) {
        return std::nullopt;
      }
      if (!stride.is_constant()) return std::nullopt;
      flat.panel = affine->terms[0].first;
      flat.address.AddTerm(flat.panel, stride / block);
      continue;
    }
    flat.address.offset += affine->offset * stride;
    for (const auto& [variable, coefficient] : affine->terms) {
      flat.address.AddTerm(variable, coefficient * stride);
    }
    stride *= dims[dim];
  }
  return flat;
}

std::optional<FlatAccess> FlattenAccess(const std::vector<Index>& indices,
                                        bool checked,
                                        const std::vector<Size>& dims,
                                        const Layout& layout,
                                        const std::vector<Size>& extents,
                                        const Symbols& symbols) {
  FlatAccess access;
  const std::vector<DimPlace> places = PlaceDims(dims, layout);
  for (size_t d = 0; d < indices.size(); ++d) {
    const Size& stride = places[d].stride;
    const std::optional<Affine> affine = ToAffine(indices[d], symbols);
    if (!affine) return std::nullopt;
    DynamicIndex dynamic{.index = *affine,
                         .indirect = indices[d].indirect,
                         .divisor = indices[d].divisor,
                         .extent = dims[d]};
    if (places[d].block > 1) {
      dynamic.stride = stride;
      dynamic.block = places[d].block;
      dynamic.block_stride = places[d].block_stride;
    } else if (dynamic.divisor == 1) {
      access.address.offset += affine->offset * stride;
      for (const auto& [variable, coefficient] : affine->terms) {
        access.address.AddTerm(variable, coefficient * stride);
      }
      if (dynamic.indirect.valid()) dynamic.stride = stride;
    } else {
      dynamic.stride = stride;
    }
    dynamic.checked =
        checked && (dynamic.divisor > 1 || dynamic.indirect.valid() ||
                    !StaysWithin(*affine, dims[d], extents, symbols));
    if (dynamic.checked || !(dynamic.stride == 0)) {
      access.checked |= dynamic.checked;
      access.dynamic.push_back(std::move(dynamic));
    }
  }
  return access;
}

bool FlattenStages(FlatRegion* flat, const Symbols& symbols, bool panels) {
  const Region& region = *flat->region;
  for (const Stage& stage : region.stages) {
    flat->loops.push_back(stage.loops);
    flat->reduced.push_back(stage.reduced);
    Affine result;
    Size size = 1;
    for (size_t i = stage.loops.size(); i-- > 0;) {
      result.AddTerm(stage.loops[i], size);
      size *= flat->extents[stage.loops[i]];
    }
    flat->results.push_back(std::move(result));
    flat->result_sizes.push_back(size);
    std::vector<FlatAccess>& stores = flat->stores.emplace_back();
    for (const Store& store : stage.stores) {
      const Operand& output = region.outputs[store.output];
      const auto dims = symbols.SizesOf(output.dims);
      if (!dims || (panels && !output.layout.blocks.empty())) return false;
      auto access = FlattenAccess(store.indices, store.checked, *dims,
                                  output.layout, flat->extents, symbols);
      if (!access) return false;
      stores.push_back(*std::move(access));
    }
  }
  return true;
}

bool FlattenLoads(FlatRegion* flat, const Symbols& symbols, bool panels) {
  const Region& region = *flat->region;
  for (const Access& access : region.accesses) {
    std::vector<Size> dims;
    Layout layout;
    if (access.source == Access::Source::kInput) {
      const Operand& input = region.inputs[access.number];
      const auto sizes = symbols.SizesOf(input.dims);
      if (!sizes) return false;
      if (panels && !input.layout.blocks.empty()) {
        auto panel = FlattenPanel(access, input, *sizes, symbols);
        if (!panel) return false;
        flat->loads.push_back(*std::move(panel));
        continue;
      }
      dims = *sizes;
      layout = input.layout;
    } else {
      for (const uint32_t v : region.stages[access.number].loops) {
        dims.push_back(flat->extents[v]);
      }
    }
    auto load = FlattenAccess(access.indices, access.checked, dims, layout,
                              flat->extents, symbols);
    if (!load) return false;
    flat->loads.push_back(*std::move(load));
  }
  return true;
}

bool FlattenChecks(FlatRegion* flat, const Symbols& symbols) {
  for (const IndexCheck& check : flat->region->checks) {
    std::optional<Affine> position = ToAffine(check.position, symbols);
    if (!position) return false;
    flat->positions.push_back(*std::move(position));
  }
  return true;
}

// Divisors of quotients that are part of an address, at most: as many vectors
// of neighbours differ.
constexpr int64_t kMostDivisor = 8;

// What the expression adds to an address by `coefficient`, where it is a
// variable by a step, divided.
std::optional<FlatAccess::Repeat> QuotientOf(const Region& region, ExprId id,
                                             int64_t coefficient) {
  const auto constant = [&](ExprId of) -> std::optional<int64_t> {
    const Expr& expr = region.expr(of);
    if (expr.kind != Expr::Kind::kConstant) return std::nullopt;
    return static_cast<int64_t>(expr.bits);
  };
  const Expr& quotient = region.expr(id);
  if (quotient.kind != Expr::Kind::kOp || quotient.op != Op::kDiv) return {};
  const std::optional<int64_t> divisor = constant(quotient.operands[1]);
  const Expr* dividend = &region.expr(quotient.operands[0]);
  FlatAccess::Repeat repeat{.divisor = divisor.value_or(0),
                            .coefficient = coefficient};
  if (dividend->kind == Expr::Kind::kOp && dividend->op == Op::kMul) {
    repeat.step = constant(dividend->operands[1]).value_or(0);
    dividend = &region.expr(dividend->operands[0]);
  }
  if (dividend->kind != Expr::Kind::kVariable || repeat.step < 1 ||
      repeat.step >= repeat.divisor || repeat.divisor > kMostDivisor) {
    return std::nullopt;
  }
  repeat.variable = dividend->number;
  return repeat;
}

// Makes quotients of variables that loads of inputs add to their addresses part
// of these.
void RepeatQuotients(FlatRegion* flat) {
  for (size_t a = 0; a < flat->loads.size(); ++a) {
    FlatAccess& load = flat->loads[a];
    if (flat->region->accesses[a].source != Access::Source::kInput) continue;
    for (size_t d = load.dynamic.size(); d-- > 0;) {
      const DynamicIndex& dynamic = load.dynamic[d];
      if (!dynamic.indirect.valid() || dynamic.checked || dynamic.block > 1 ||
          dynamic.divisor > 1) {
        continue;
      }
      const auto repeat =
          QuotientOf(*flat->region, dynamic.indirect, dynamic.stride);
      if (!repeat || load.DynamicIn(repeat->variable) ||
          !(load.address.Coefficient(repeat->variable) == 0)) {
        continue;
      }
      load.dynamic.erase(load.dynamic.begin() + static_cast<ptrdiff_t>(d));
      load.repeats.push_back(*repeat);
    }
  }
}

// Stages whose buffers' sizes are added up.
constexpr size_t kMostSymbolicStages = 16;

// Whether no expression outgrew what a Dim can say.
bool IsValid(const FlatRegion& flat) {
  const auto valid = [](const Affine& affine) {
    return affine.offset.dim().valid() &&
           std::ranges::all_of(affine.terms, [](const auto& term) {
             return term.second.dim().valid();
           });
  };
  const auto reached = [&](const FlatAccess& access) {
    return valid(access.address) &&
           std::ranges::all_of(access.dynamic, [&](const DynamicIndex& d) {
             return valid(d.index) && d.stride.dim().valid() &&
                    d.block_stride.dim().valid();
           });
  };
  const auto sound = [](const Size& size) { return size.dim().valid(); };
  const auto has_lines = [](const Size& size) {
    return FloorDiv(size.dim() * Dim(64), Dim(64)).valid();
  };
  if (flat.is_symbolic() && flat.loops.size() > kMostSymbolicStages) {
    return false;
  }
  return std::ranges::all_of(flat.extents, sound) &&
         std::ranges::all_of(flat.result_sizes, has_lines) &&
         std::ranges::all_of(flat.results, valid) &&
         std::ranges::all_of(flat.positions, valid) &&
         std::ranges::all_of(flat.loads, reached) &&
         std::ranges::all_of(flat.stores, [&](const auto& stores) {
           return std::ranges::all_of(stores, reached);
         });
}

std::optional<FlatRegion> FlattenAll(const Region& region,
                                     const Symbols& symbols, bool repeats,
                                     const FlatRegion* planned) {
  const bool panels = planned != nullptr;
  FlatRegion flat;
  flat.region = &region;
  auto extents = symbols.SizesOf(region.extents);
  if (!extents) return std::nullopt;
  flat.extents = *std::move(extents);
  for (Size& extent : flat.extents) {
    if (extent.is_constant()) continue;
    extent = Size(extent.dim(), std::max<int64_t>(extent.typical(), 1));
  }
  flat.outer.resize(region.outer);
  std::iota(flat.outer.begin(), flat.outer.end(), 0);
  if (!FlattenStages(&flat, symbols, panels) ||
      !FlattenLoads(&flat, symbols, panels) || !FlattenChecks(&flat, symbols)) {
    return std::nullopt;
  }
  if (repeats) RepeatQuotients(&flat);
  MergeVariables(&flat, repeats, planned);
  if (!IsValid(flat)) return std::nullopt;
  const Work work = EstimateWork(region, symbols.typical);
  flat.moved_bytes = work.read_bytes + work.written_bytes;
  return flat;
}

}  // namespace

Size Affine::Coefficient(uint32_t variable) const {
  for (const auto& [v, coefficient] : terms) {
    if (v == variable) return coefficient;
  }
  return 0;
}

void Affine::AddTerm(uint32_t variable, const Size& coefficient) {
  const auto at = std::lower_bound(
      terms.begin(), terms.end(), variable,
      [](const auto& term, uint32_t v) { return term.first < v; });
  if (at != terms.end() && at->first == variable) {
    at->second += coefficient;
    if (at->second == 0) terms.erase(at);
  } else if (!(coefficient == 0)) {
    terms.insert(at, {variable, coefficient});
  }
}

bool DynamicIndex::InOneBlock(uint32_t variable, int lanes) const {
  const auto whole = [lanes](const Size& size) {
    return size.is_constant() && size % lanes == 0;
  };
  if (block % lanes != 0 || indirect.valid() || divisor != 1 ||
      !whole(index.offset)) {
    return false;
  }
  return std::ranges::all_of(index.terms, [&](const auto& term) {
    return term.first == variable ? term.second == 1 : whole(term.second);
  });
}

const FlatAccess::Repeat* FlatAccess::RepeatOf(uint32_t variable) const {
  for (const Repeat& repeat : repeats) {
    if (repeat.variable == variable) return &repeat;
  }
  return nullptr;
}

bool FlatAccess::DynamicIn(uint32_t variable) const {
  if (RepeatOf(variable) != nullptr) return true;
  return std::any_of(dynamic.begin(), dynamic.end(), [variable](const auto& d) {
    return !(d.index.Coefficient(variable) == 0);
  });
}

std::optional<FlatRegion> Flatten(const Region& region, bool repeats) {
  if (region.symbols > 0) return std::nullopt;
  return FlattenAll(region, Symbols(), repeats, /*planned=*/nullptr);
}

std::optional<FlatRegion> FlattenPanels(const Region& region,
                                        const FlatRegion& planned) {
  if (region.symbols > 0) return std::nullopt;
  auto flat = FlattenAll(region, Symbols(), /*repeats=*/false, &planned);
  return flat && flat->extents == planned.extents ? flat : std::nullopt;
}

std::optional<FlatRegion> FlattenSymbolic(const Region& region,
                                          std::vector<int64_t> typical) {
  Symbols symbols;
  symbols.bounds.resize(region.symbols);
  symbols.typical = std::move(typical);
  return FlattenAll(region, symbols, /*repeats=*/false, /*planned=*/nullptr);
}

}  // namespace encore::backends
