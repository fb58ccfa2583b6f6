#include "encore/backends/region/flat/merge_variables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace encore::backends {
namespace {

// All places where an affine form of a variable stands.
template <typename Visitor>
void VisitAccesses(FlatRegion* flat, Visitor visit) {
  for (FlatAccess& access : flat->loads) visit(access);
  for (auto& stores : flat->stores) {
    for (FlatAccess& access : stores) visit(access);
  }
}

// What merging a variable into the next one makes of a load.
enum class Merged { kNever, kPlain, kRepeated };

// Largest number of neighbours that read one element; where it is no power of
// two, so that vectors begin among them, each place to begin at is a shuffle,
// and for five of them stores that are apart were measured to take no longer.
constexpr int64_t kMaxRepeat = 16, kMaxUnevenRepeat = 3;

bool IsRepeat(const Size& extent) {
  if (!extent.is_constant()) return false;
  const int64_t count = extent;
  return count <= kMaxUnevenRepeat ||
         ((count & (count - 1)) == 0 && count <= kMaxRepeat);
}

Merged MergeLoad(const FlatAccess& access, uint32_t first, uint32_t second,
                 const Size& extent) {
  if (access.RepeatOf(first) != nullptr || access.panel == first ||
      access.panel == second) {
    return Merged::kNever;
  }
  for (const DynamicIndex& dynamic : access.dynamic) {
    if (!(dynamic.index.Coefficient(first) == 0) ||
        !(dynamic.index.Coefficient(second) == 0)) {
      return Merged::kNever;
    }
  }
  const Size a = access.address.Coefficient(first);
  if (const FlatAccess::Repeat* repeat = access.RepeatOf(second)) {
    const bool continues = extent.is_constant() &&
                           extent * repeat->step % repeat->divisor == 0 &&
                           a == int64_t{extent * repeat->step /
                                        repeat->divisor * repeat->coefficient};
    return continues ? Merged::kPlain : Merged::kNever;
  }
  const Size b = access.address.Coefficient(second);
  if (a == b * extent) return Merged::kPlain;
  return b == 0 && a.is_constant() && IsRepeat(extent) ? Merged::kRepeated
                                                       : Merged::kNever;
}

// Whether stepping `first` once is the same as stepping `second` through all of
// its extent, wherever they occur; with `repeats` but for loads of inputs that
// `second` does not move.
bool CanMerge(const FlatRegion& flat, uint32_t first, uint32_t second,
              bool repeats) {
  const Size extent = flat.extents[second];
  for (size_t a = 0; a < flat.loads.size(); ++a) {
    const Merged merged = MergeLoad(flat.loads[a], first, second, extent);
    const bool input =
        flat.region->accesses[a].source == Access::Source::kInput;
    if (merged == Merged::kNever ||
        (merged == Merged::kRepeated && !(repeats && input))) {
      return false;
    }
  }
  for (const auto& stores : flat.stores) {
    for (const FlatAccess& store : stores) {
      if (MergeLoad(store, first, second, extent) != Merged::kPlain) {
        return false;
      }
    }
  }
  const auto steps_alike = [&](const Affine& affine) {
    return affine.Coefficient(first) == affine.Coefficient(second) * extent;
  };
  if (!std::ranges::all_of(flat.results, steps_alike) ||
      !std::ranges::all_of(flat.positions, steps_alike)) {
    return false;
  }
  for (const Expr& expr : flat.region->exprs) {
    if (expr.kind == Expr::Kind::kVariable &&
        (expr.number == first || expr.number == second)) {
      return false;
    }
  }
  return true;
}

void Merge(FlatRegion* flat, uint32_t first, uint32_t second) {
  const Size extent = flat->extents[second];
  const auto drop = [first](Affine* affine) {
    std::erase_if(affine->terms,
                  [first](const auto& term) { return term.first == first; });
  };
  VisitAccesses(flat, [&](FlatAccess& access) {
    if (MergeLoad(access, first, second, extent) == Merged::kRepeated) {
      access.repeats.push_back(
          {second, extent, access.address.Coefficient(first)});
    }
    drop(&access.address);
  });
  for (Affine& affine : flat->results) drop(&affine);
  for (Affine& affine : flat->positions) drop(&affine);
  flat->extents[second] *= flat->extents[first];
  flat->extents[first] = 1;
}

// In each list in which either stands, `first` stands right before `second`.
bool Adjacent(const std::vector<std::vector<uint32_t>*>& lists, uint32_t first,
              uint32_t second) {
  for (const auto* list : lists) {
    const auto a = std::find(list->begin(), list->end(), first);
    const auto b = std::find(list->begin(), list->end(), second);
    if (a == list->end() && b == list->end()) continue;
    if (a == list->end() || b == list->end() || b - a != 1) return false;
  }
  return true;
}

bool IsArg(RegionCombiner combiner) {
  return combiner >= RegionCombiner::kArgMax &&
         combiner <= RegionCombiner::kArgMinLast;
}

}  // namespace

void MergeVariables(FlatRegion* flat, bool repeats, const FlatRegion* planned) {
  std::vector<std::vector<uint32_t>*> lists = {&flat->outer};
  for (auto& list : flat->loops) lists.push_back(&list);
  for (auto& list : flat->reduced) lists.push_back(&list);
  for (auto* list : lists) {
    std::erase_if(*list, [flat](uint32_t v) { return flat->extents[v] == 1; });
  }
  std::vector<bool> fixed(flat->extents.size());
  for (size_t s = 0; s < flat->reduced.size(); ++s) {
    const Stage& stage = flat->region->stages[s];
    if (stage.kind != Stage::Kind::kReduce || !IsArg(stage.combiner)) continue;
    for (const uint32_t v : stage.reduced) fixed[v] = true;
  }
  const auto is_reduced = [flat](uint32_t v) {
    return std::any_of(flat->reduced.begin(), flat->reduced.end(),
                       [v](const std::vector<uint32_t>& list) {
                         return std::find(list.begin(), list.end(), v) !=
                                list.end();
                       });
  };
  for (auto* list : lists) {
    for (size_t i = list->size(); i-- > 1;) {
      const uint32_t first = (*list)[i - 1], second = (*list)[i];
      const bool innermost =
          i + 1 == list->size() && !is_reduced(second) && repeats;
      if (fixed[first] || fixed[second] ||
          (planned != nullptr && planned->extents[first] != 1) ||
          !Adjacent(lists, first, second) ||
          !CanMerge(*flat, first, second, innermost)) {
        continue;
      }
      Merge(flat, first, second);
      for (auto* other : lists) std::erase(*other, first);
    }
  }
}

}  // namespace encore::backends
