#include "encore/backends/region/verify.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

Status Broken(int invariant, std::string_view what) {
  return InvalidArgumentError(
      StrCat("region invariant ", invariant, ": ", what));
}

class Verifier {
 public:
  explicit Verifier(const Region& region) : region_(region) {}

  Status Run() {
    ENCORE_RETURN_IF_ERROR(CheckExtents());
    for (const Operand& operand : region_.inputs) {
      ENCORE_RETURN_IF_ERROR(CheckOperand(operand));
    }
    for (const Operand& operand : region_.outputs) {
      ENCORE_RETURN_IF_ERROR(CheckOperand(operand));
    }
    for (const Access& access : region_.accesses) {
      ENCORE_RETURN_IF_ERROR(CheckAccess(access));
    }
    for (const IndexCheck& check : region_.checks) {
      ENCORE_RETURN_IF_ERROR(CheckIndexCheck(check));
    }
    for (uint32_t i = 0; i < region_.exprs.size(); ++i) {
      ENCORE_RETURN_IF_ERROR(CheckExpr(i));
    }
    for (uint32_t i = 0; i < region_.stages.size(); ++i) {
      ENCORE_RETURN_IF_ERROR(CheckStage(i));
    }
    return CheckWhole();
  }

 private:
  bool Valid(const Dim& dim) const {
    return dim.valid() && dim.SymbolLimit() <= region_.symbols;
  }
  bool IsExpr(ExprId id) const {
    return id.valid() && id.value() < region_.exprs.size();
  }
  bool IsI64(ExprId id) const {
    return IsExpr(id) && region_.expr(id).dtype == DType::kI64;
  }
  static bool IsComputed(DType dtype) {
    return IsValidDType(static_cast<uint8_t>(dtype)) && !IsString(dtype);
  }

  Status CheckExtents() const {
    if (region_.outer > region_.extents.size()) return Broken(2, "outer");
    for (const Dim& extent : region_.extents) {
      if (!Valid(extent)) return Broken(2, "an extent");
    }
    return OkStatus();
  }

  Status CheckOperand(const Operand& operand) const {
    if (!IsComputed(operand.dtype)) return Broken(1, "dtype of an operand");
    for (const Dim& dim : operand.dims) {
      if (!Valid(dim)) return Broken(2, "a dim of an operand");
    }
    return CheckLayout(operand);
  }

  static Status CheckLayout(const Operand& operand) {
    const auto& [order, blocks] = operand.layout;
    const int rank = static_cast<int>(operand.dims.size());
    if (!order.empty()) {
      std::vector<int> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      bool permutation = static_cast<int>(sorted.size()) == rank;
      for (int i = 0; permutation && i < rank; ++i)
        permutation = sorted[i] == i;
      if (!permutation) return Broken(10, "order of a layout");
    }
    if (blocks.size() > kMaxBlocks) return Broken(11, "number of blocks");
    std::set<int> blocked;
    for (const auto& [dim, size] : blocks) {
      if (dim < 0 || dim >= rank || !blocked.insert(dim).second) {
        return Broken(11, "dim of a block");
      }
      if (size < 1 || size > kMaxBlockSize) return Broken(11, "size of blocks");
      const Dim& extent = operand.dims[dim];
      if (!extent.is_constant() || extent.constant() < 0) {
        return Broken(12, "extent of a blocked dim");
      }
    }
    return blocks.empty() ? OkStatus() : CheckMemory(operand);
  }

  static Status CheckMemory(const Operand& operand) {
    int64_t bits = BitWidth(operand.dtype);
    bool overflow = false;
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      if (!operand.dims[d].is_constant()) continue;
      const int64_t block = operand.layout.BlockSize(static_cast<int>(d));
      int64_t extent;
      overflow |= __builtin_add_overflow(operand.dims[d].constant(), block - 1,
                                         &extent);
      overflow |= __builtin_mul_overflow(bits, extent / block * block, &bits);
    }
    return overflow ? Broken(12, "bytes of an operand") : OkStatus();
  }

  Status CheckIndex(const Index& index, bool checked) const {
    if (!Valid(index.offset)) return Broken(2, "an offset");
    int64_t previous = -1;
    for (const Index::Term& term : index.terms) {
      if (term.variable >= region_.extents.size() ||
          term.variable <= previous) {
        return Broken(1, "variable of an index");
      }
      previous = term.variable;
      if (!Valid(term.stride)) return Broken(2, "a stride");
    }
    if (index.divisor < 1 || (index.divisor > 1 && !checked)) {
      return Broken(8, "divisor of an index");
    }
    if (index.indirect.valid() && !IsI64(index.indirect)) {
      return Broken(4, "an indirect index is no i64");
    }
    return OkStatus();
  }

  Status CheckIndices(const std::vector<Index>& indices, size_t rank,
                      bool checked) const {
    if (indices.size() != rank) return Broken(3, "number of indices");
    for (const Index& index : indices) {
      ENCORE_RETURN_IF_ERROR(CheckIndex(index, checked));
    }
    return OkStatus();
  }

  Status CheckAccess(const Access& access) const {
    size_t rank = 0;
    if (access.source == Access::Source::kInput) {
      if (access.number >= region_.inputs.size() || access.component != 0) {
        return Broken(1, "input of an access");
      }
      rank = region_.inputs[access.number].dims.size();
    } else if (access.source == Access::Source::kStage) {
      if (access.number >= region_.stages.size()) {
        return Broken(1, "stage of an access");
      }
      const Stage& stage = region_.stages[access.number];
      const uint32_t components = !stage.value.valid() ? 0
                                  : stage.kind == Stage::Kind::kReduce
                                      ? ComponentCount(stage.combiner)
                                      : 1;
      if (access.component >= components) {
        return Broken(1, "component of an access");
      }
      rank = stage.loops.size();
    } else {
      return Broken(1, "source of an access");
    }
    if (access.fill.valid() && !IsExpr(access.fill)) return Broken(1, "a fill");
    return CheckIndices(access.indices, rank, access.checked);
  }

  Status CheckIndexCheck(const IndexCheck& check) const {
    if (check.op != Op::kGather && check.op != Op::kScatter) {
      return Broken(13, "op of a check");
    }
    if (check.node >= IndexCheck::kMost || check.axis >= IndexCheck::kMost ||
        check.component >= IndexCheck::kMost) {
      return Broken(13, "a number of a check");
    }
    if (!Valid(check.count) || !Valid(check.extent)) {
      return Broken(2, "a dim of a check");
    }
    return CheckIndex(check.position, false);
  }

  DType SourceDType(const Access& access) const {
    return access.source == Access::Source::kInput
               ? region_.inputs[access.number].dtype
               : region_.stages[access.number].dtype;
  }

  Status CheckExpr(uint32_t i) const {
    const Expr& expr = region_.exprs[i];
    if (!IsComputed(expr.dtype)) return Broken(1, "dtype of an expression");
    switch (expr.kind) {
      case Expr::Kind::kConstant:
        return OkStatus();
      case Expr::Kind::kVariable:
        if (expr.number >= region_.extents.size()) return Broken(1, "variable");
        break;
      case Expr::Kind::kDim:
        if (!Valid(expr.dim)) return Broken(2, "the dim of an expression");
        break;
      case Expr::Kind::kLoad:
        return CheckLoad(i);
      case Expr::Kind::kOp:
        return CheckOp(i);
      case Expr::Kind::kChecked:
        ENCORE_RETURN_IF_ERROR(CheckChecked(i));
        break;
      default:
        return Broken(1, "kind of an expression");
    }
    return expr.dtype == DType::kI64 ? OkStatus() : Broken(4, "no i64");
  }

  Status CheckLoad(uint32_t i) const {
    const Expr& expr = region_.exprs[i];
    if (expr.number >= region_.accesses.size()) return Broken(1, "access");
    const Access& access = region_.accesses[expr.number];
    if (SourceDType(access) != expr.dtype) return Broken(4, "dtype of a load");
    for (const Index& index : access.indices) {
      if (index.indirect.valid() && index.indirect.value() >= i) {
        return Broken(1, "an index comes after its load");
      }
    }
    if (!access.fill.valid()) return OkStatus();
    if (access.fill.value() >= i) return Broken(1, "fill comes after its load");
    return region_.expr(access.fill).dtype == expr.dtype
               ? OkStatus()
               : Broken(4, "dtype of a fill");
  }

  Status CheckChecked(uint32_t i) const {
    const Expr& expr = region_.exprs[i];
    if (expr.number >= region_.checks.size()) return Broken(1, "check");
    const ExprId index = expr.operands[0];
    const ExprId position = region_.checks[expr.number].position.indirect;
    if (!IsI64(index)) return Broken(4, "a checked index is no i64");
    if (index.value() >= i || (position.valid() && position.value() >= i)) {
      return Broken(1, "operand after its user");
    }
    return OkStatus();
  }

  Status CheckOp(uint32_t i) const {
    const Expr& expr = region_.exprs[i];
    if (static_cast<size_t>(expr.op) >= AllOps().size()) return Broken(1, "op");
    const OpInfo& info = Info(expr.op);
    if (!info.has(kElementwise) || info.level != OpLevel::kPrimitive) {
      return Broken(4, StrCat(info.mnemonic, " is no elementwise primitive"));
    }
    const int count = info.signature().required_operands;
    std::optional<DType> same;
    for (int k = 0; k < 3; ++k) {
      const ExprId operand = expr.operands[k];
      if (operand.valid() != (k < count)) return Broken(4, "operand count");
      if (k >= count) continue;
      if (operand.value() >= i) return Broken(1, "operand after its user");
      const DType dtype = region_.expr(operand).dtype;
      const TypeSlot& slot = info.signature().operand(k);
      if (slot.kind == TypeSlot::Kind::kFixed && slot.dtype != dtype) {
        return Broken(4, "dtype of an operand");
      }
      if (slot.kind == TypeSlot::Kind::kT) {
        if (same.has_value() && *same != dtype) return Broken(4, "dtypes");
        same = dtype;
      }
    }
    if (same.has_value() && !info.allows(*same)) return Broken(4, "dtype");
    const TypeSlot& result = info.signature().results[0];
    const bool fits =
        result.kind == TypeSlot::Kind::kAttr ||
        (result.kind == TypeSlot::Kind::kFixed ? expr.dtype == result.dtype
                                               : expr.dtype == same);
    return fits ? OkStatus() : Broken(4, "dtype of a result");
  }

  // Marks the variables of `stage` that are not outer; each in one place.
  Status MarkVariables(const Stage& stage, std::vector<bool>* visible) const {
    for (const auto* list : {&stage.loops, &stage.reduced}) {
      for (const uint32_t variable : *list) {
        if (variable < region_.outer || variable >= visible->size() ||
            (*visible)[variable]) {
          return Broken(5, "an inner variable");
        }
        (*visible)[variable] = true;
      }
    }
    for (uint32_t v = 0; v < region_.outer; ++v) (*visible)[v] = true;
    return OkStatus();
  }

  Status CheckScope(uint32_t number, const std::vector<bool>& visible) const {
    const Stage& stage = region_.stages[number];
    std::vector<ExprId> roots = {stage.value};
    const auto check_indices = [&](std::span<const Index> indices) {
      for (const Index& index : indices) {
        for (const Index::Term& term : index.terms) {
          if (!visible[term.variable]) return false;
        }
      }
      return true;
    };
    for (const Store& store : stage.stores) {
      roots.push_back(store.value);
      for (const Index& index : store.indices) roots.push_back(index.indirect);
      if (!check_indices(store.indices)) return Broken(5, "index of a store");
    }
    const std::vector<bool> needed = Reachable(region_, roots);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const Expr& expr = region_.exprs[i];
      if (expr.kind == Expr::Kind::kVariable && !visible[expr.number]) {
        return Broken(5, StrCat("v", expr.number, " in stage ", number));
      }
      if (expr.kind == Expr::Kind::kChecked &&
          !check_indices({&region_.checks[expr.number].position, 1})) {
        return Broken(5, "position of a check");
      }
      if (expr.kind != Expr::Kind::kLoad) continue;
      const Access& access = region_.accesses[expr.number];
      if (!check_indices(access.indices)) return Broken(5, "index of a load");
      if (access.source == Access::Source::kStage && access.number >= number) {
        return Broken(3, "a load of a stage that has not run");
      }
    }
    return OkStatus();
  }

  Status CheckStage(uint32_t number) const {
    const Stage& stage = region_.stages[number];
    if (stage.kind > Stage::Kind::kScan) return Broken(6, "kind of a stage");
    if (stage.combiner > RegionCombiner::kOnlineSoftmax) {
      return Broken(6, "combiner of a stage");
    }
    if (!IsComputed(stage.dtype) || !IsComputed(stage.accumulate)) {
      return Broken(6, "dtype of a stage");
    }
    const bool map = stage.kind == Stage::Kind::kMap;
    if (!map && !stage.stores.empty()) return Broken(6, "a store");
    if (stage.kind != Stage::Kind::kReduce && !stage.reduced.empty()) {
      return Broken(6, "reduced variables");
    }
    if (stage.kind == Stage::Kind::kScan &&
        (stage.loops.size() != 1 || stage.combiner > RegionCombiner::kOr)) {
      return Broken(6, "scan");
    }
    if (stage.value.valid() ? !IsExpr(stage.value) : !map) {
      return Broken(6, "value of a stage");
    }
    for (const Store& store : stage.stores) {
      if (store.output >= region_.outputs.size()) return Broken(1, "output");
      const Operand& output = region_.outputs[store.output];
      if (!IsExpr(store.value) ||
          region_.expr(store.value).dtype != output.dtype) {
        return Broken(7, "dtype of a stored value");
      }
      if (store.update > Update::kMin) return Broken(1, "update");
      ENCORE_RETURN_IF_ERROR(
          CheckIndices(store.indices, output.dims.size(), false));
    }
    std::vector<bool> visible(region_.extents.size());
    ENCORE_RETURN_IF_ERROR(MarkVariables(stage, &visible));
    return CheckScope(number, visible);
  }

  Status CheckWhole() const {
    std::set<uint32_t> stored;
    for (const Stage& stage : region_.stages) {
      for (const Store& store : stage.stores) stored.insert(store.output);
    }
    if (stored.size() != region_.outputs.size()) {
      return Broken(7, "an output that nothing stores");
    }
    if (!region_.contraction.has_value()) return OkStatus();
    const Contraction& c = *region_.contraction;
    if (c.kind > Contraction::Kind::kConvolution ||
        c.stage >= region_.stages.size() || !IsExpr(c.lhs) || !IsExpr(c.rhs)) {
      return Broken(9, "contraction");
    }
    const Stage& stage = region_.stages[c.stage];
    if (stage.kind != Stage::Kind::kReduce ||
        stage.combiner != RegionCombiner::kSum) {
      return Broken(9, "stage of the contraction");
    }
    return OkStatus();
  }

  const Region& region_;
};

}  // namespace

Status VerifyRegion(const Region& region) { return Verifier(region).Run(); }

}  // namespace encore::backends
