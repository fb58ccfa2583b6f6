#include "encore/backends/region/relayout.h"

#include <algorithm>
#include <utility>

#include "encore/backends/region/verify.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends {
namespace {

Status SetLayouts(const std::vector<Layout>& layouts,
                  std::vector<Operand>* operands) {
  if (layouts.empty()) return OkStatus();
  if (layouts.size() != operands->size()) {
    return InvalidArgumentError("layouts: not one per operand");
  }
  for (size_t i = 0; i < layouts.size(); ++i) {
    (*operands)[i].layout = layouts[i];
  }
  return OkStatus();
}

}  // namespace

StatusOr<Region> WithLayouts(const Region& region,
                             const std::vector<Layout>& inputs,
                             const std::vector<Layout>& outputs) {
  Region result = region;
  ENCORE_RETURN_IF_ERROR(SetLayouts(inputs, &result.inputs));
  ENCORE_RETURN_IF_ERROR(SetLayouts(outputs, &result.outputs));
  ENCORE_RETURN_IF_ERROR(VerifyRegion(result));
  return result;
}

Region CopyRegion(DType dtype, const std::vector<Dim>& dims, const Layout& from,
                  const Layout& to) {
  Region copy;
  copy.inputs = {{dtype, dims, from}};
  copy.outputs = {{dtype, dims, to}};
  copy.extents = dims;
  copy.outer = static_cast<uint32_t>(dims.size());
  Access access;
  for (uint32_t v = 0; v < copy.outer; ++v) {
    copy.symbols = std::max(copy.symbols, dims[v].SymbolLimit());
    access.indices.push_back({.offset = {}, .terms = {{v, 1}}});
  }
  Store store;
  store.indices = access.indices;
  Expr load;
  load.kind = Expr::Kind::kLoad;
  load.dtype = dtype;
  load.number = AddAccess(&copy, std::move(access));
  store.value = AddExpr(&copy, load);
  Stage stage;
  stage.stores = {std::move(store)};
  stage.dtype = stage.accumulate = dtype;
  copy.stages = {std::move(stage)};
  return copy;
}

}  // namespace encore::backends
