#include "encore/backends/cuda/codegen/atomics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "encore/backends/cuda/codegen/loops/unordered_loops.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int kLeastBits = 16;

StoreOrder OrderOf(Update update, DType dtype) {
  if (update == Update::kSet || dtype == DType::kBool ||
      BitWidth(dtype) < kLeastBits) {
    return StoreOrder::kFixed;
  }
  const bool selects = update == Update::kMax || update == Update::kMin;
  return IsFloat(dtype) && !selects ? StoreOrder::kRounded : StoreOrder::kExact;
}

bool HasOwnAtomic(Update update, DType dtype) {
  if (BitWidth(dtype) < 32) return false;
  if (update == Update::kAdd) return true;
  return update != Update::kMul && !IsFloat(dtype);
}

}  // namespace

Op OpOf(Update update) {
  constexpr Op kOps[] = {Op::kSelect, Op::kAdd, Op::kMul, Op::kMax, Op::kMin};
  return kOps[static_cast<int>(update)];
}

StoreOrder OrderOf(const FlatRegion& flat) {
  const Region& region = *flat.region;
  StoreOrder order = StoreOrder::kFree;
  for (uint32_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    if (stage.stores.empty() ||
        UnorderedLoops(flat, s).size() == flat.loops[s].size()) {
      continue;
    }
    for (const Store& store : stage.stores) {
      order = std::max(
          order, OrderOf(store.update, region.outputs[store.output].dtype));
    }
  }
  return order;
}

double SerialIterations(const FlatRegion& flat) {
  double most = 1;
  for (uint32_t s = 0; s < flat.region->stages.size(); ++s) {
    if (flat.region->stages[s].stores.empty()) continue;
    const std::vector<uint32_t> unordered = UnorderedLoops(flat, s);
    double iterations = 1;
    for (const uint32_t v : flat.loops[s]) {
      if (std::ranges::find(unordered, v) == unordered.end()) {
        iterations *= static_cast<double>(flat.extents[v].typical());
      }
    }
    most = std::max(most, iterations);
  }
  return most;
}

std::string AtomicCode(Update update, DType dtype, std::string_view array,
                       std::string_view at, std::string_view value) {
  if (HasOwnAtomic(update, dtype)) {
    const std::string_view name = update == Update::kAdd   ? "AtomicAdd"
                                  : update == Update::kMax ? "AtomicMax"
                                                           : "AtomicMin";
    return StrCat(name, "(", array, " + ", at, ", (", CType(dtype), ")", value,
                  ");\n");
  }
  return StrCat(
      "AtomicUpdate(", array, " + ", at, ", [&](mem_", dtype, " held) {\nmem_",
      dtype, " next;\nst_", dtype, "(&next, 0, (", CType(dtype), ")",
      BinaryCode(OpOf(update), dtype, StrCat("ld_", dtype, "(&held, 0)"),
                 StrCat("(", CType(dtype), ")", value)),
      ");\nreturn next;\n});\n");
}

}  // namespace encore::backends::cuda
