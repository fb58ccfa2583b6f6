#include "encore/backends/cpu/loops/windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "encore/backends/cpu/loops/prune.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/region/affine.h"

namespace encore::backends::cpu {
namespace {

// Elements of a line that take longer to compute than to come back from memory.
constexpr int64_t kLongLine = 128;

// The dim of an access along which windows lie: position = offset + stride *
// `outer` + dilation * `reduced`.
struct WindowDim {
  uint32_t access = 0;
  size_t dim = 0;
  uint32_t outer = 0, reduced = 0;
  int64_t stride = 0, dilation = 0;
};

bool Moves(const Index& index, uint32_t variable) {
  return std::ranges::any_of(index.terms, [&](const Index::Term& term) {
    return term.variable == variable;
  });
}

// Whether anything but the window's dim depends on one of its variables.
bool DependsOtherwise(const Region& region, const WindowDim& window) {
  const std::vector<bool> needed = Reachable(region, {region.stages[0].value});
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (!needed[e]) continue;
    if (expr.kind == Expr::Kind::kVariable &&
        (expr.number == window.outer || expr.number == window.reduced)) {
      return true;
    }
    if (expr.kind != Expr::Kind::kLoad) continue;
    const std::vector<Index>& indices = region.accesses[expr.number].indices;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (expr.number == window.access && d == window.dim) continue;
      if (Moves(indices[d], window.outer) ||
          Moves(indices[d], window.reduced)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<WindowDim> FindWindow(const Region& region) {
  const Stage& stage = region.stages[0];
  WindowDim window;
  window.reduced = stage.reduced.back();
  for (uint32_t a = 0; a < region.accesses.size(); ++a) {
    const Access& access = region.accesses[a];
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const Index& index = access.indices[d];
      if (!Moves(index, window.reduced)) continue;
      if (access.source != Access::Source::kInput || index.terms.size() != 2 ||
          index.divisor != 1 || index.indirect.valid() || window.stride != 0) {
        return std::nullopt;
      }
      window.access = a;
      window.dim = d;
      window.outer = index.terms[0].variable;
      window.stride = index.terms[0].stride.constant();
      window.dilation = index.terms[1].stride.constant();
    }
  }
  if (window.stride <= 0 || window.dilation <= 0 ||
      window.outer >= region.outer || DependsOtherwise(region, window)) {
    return std::nullopt;
  }
  return window;
}

bool Fits(const Region& region) {
  const Stage& first = region.stages[0];
  return region.checks.empty() && first.kind == Stage::Kind::kReduce &&
         (first.combiner == RegionCombiner::kMax ||
          first.combiner == RegionCombiner::kMin ||
          first.combiner == RegionCombiner::kSum) &&
         first.loops.empty() && first.reduced.size() > 1 &&
         std::ranges::all_of(region.stages.begin() + 1, region.stages.end(),
                             [](const Stage& stage) {
                               return stage.kind == Stage::Kind::kMap &&
                                      stage.loops.empty();
                             });
}

// The outer variable `variable` becomes the first of the inner ones.
void MoveInside(Region* region, uint32_t variable) {
  const auto moved = [&](uint32_t v) {
    if (v == variable) return region->outer - 1;
    return v > variable && v < region->outer ? v - 1 : v;
  };
  const auto rename = [&](std::vector<Index>* indices) {
    for (Index& index : *indices) {
      for (Index::Term& term : index.terms)
        term.variable = moved(term.variable);
      std::ranges::sort(index.terms, {}, &Index::Term::variable);
    }
  };
  for (Access& access : region->accesses) rename(&access.indices);
  for (Expr& expr : region->exprs) {
    if (expr.kind == Expr::Kind::kVariable) expr.number = moved(expr.number);
  }
  for (Stage& stage : region->stages) {
    for (Store& store : stage.stores) rename(&store.indices);
  }
  const auto extents = region->extents.begin();
  std::rotate(extents + variable, extents + variable + 1,
              extents + region->outer);
  --region->outer;
}

// The stage over the last variable alone, behind the first one; both for each
// of `lines`, inner variables.
void AddStage(Region* region, const WindowDim& window,
              const std::vector<uint32_t>& lines, uint32_t outer, uint32_t line,
              int64_t step) {
  std::vector<Index> places;
  for (const uint32_t v : lines) places.push_back(VariableIndex(v));
  const auto with = [&](uint32_t last) {
    std::vector<uint32_t> loops = lines;
    loops.push_back(last);
    return loops;
  };
  std::vector<Index> read = places;
  read.push_back(VariableIndex(outer));
  for (Access& access : region->accesses) {
    if (access.source != Access::Source::kStage) continue;
    ++access.number;
    access.indices = read;
  }
  read.back().terms = {{outer, Dim(window.stride / step)},
                       {window.reduced, Dim(window.dilation / step)}};
  Stage last = region->stages[0];
  last.loops = with(outer);
  last.reduced = {window.reduced};
  // Sums of lines are rounded no more than sums are.
  Stage& first = region->stages[0];
  if (first.combiner == RegionCombiner::kSum) first.dtype = first.accumulate;
  Expr load{.kind = Expr::Kind::kLoad, .dtype = first.dtype};
  load.number = AddAccess(region, {.source = Access::Source::kStage,
                                   .indices = std::move(read),
                                   .fill = {}});
  last.value = AddExpr(region, std::move(load));
  first.loops = with(line);
  first.reduced.pop_back();
  for (size_t s = 1; s < region->stages.size(); ++s) {
    region->stages[s].loops = with(outer);
  }
  region->stages.insert(region->stages.begin() + 1, std::move(last));
}

// The outer variable of the dim before the window's, where lines of so many
// elements are so few bytes that all of them stay in the cache, and so short
// that one would be read before it is written.
std::optional<uint32_t> LinesOf(const Region& region, const WindowDim& window,
                                int64_t line) {
  if (window.dim == 0 || line > kLongLine) return std::nullopt;
  const Access& access = region.accesses[window.access];
  for (const Index::Term& term : access.indices[window.dim - 1].terms) {
    if (term.variable >= region.outer || term.variable == window.outer)
      continue;
    const int64_t lines = region.extents[term.variable].constant();
    if (lines * line * int64_t{sizeof(double)} <= kFirstCacheBytes) {
      return term.variable;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Region> SeparateWindows(const Region& region) {
  if (!Fits(region)) return std::nullopt;
  const std::optional<WindowDim> window = FindWindow(region);
  if (!window) return std::nullopt;
  Region separate = region;
  const int64_t step = std::gcd(window->stride, window->dilation);
  const int64_t span =
      window->stride * (region.extents[window->outer].constant() - 1) +
      window->dilation * (region.extents[window->reduced].constant() - 1);
  const auto line = static_cast<uint32_t>(separate.extents.size());
  separate.extents.push_back(Dim(span / step + 1));
  separate.accesses[window->access].indices[window->dim].terms = {
      {line, Dim(step)}};
  const std::optional<uint32_t> around =
      LinesOf(region, *window, span / step + 1);
  MoveInside(&separate, window->outer);
  uint32_t outer = separate.outer;
  std::vector<uint32_t> lines;
  if (around) {
    MoveInside(&separate, *around - (*around > window->outer ? 1 : 0));
    lines.push_back(separate.outer);
    outer = separate.outer + 1;
  }
  AddStage(&separate, *window, lines, outer, line, step);
  Prune(&separate);
  return separate;
}

}  // namespace encore::backends::cpu
