#include "encore/backends/region/online.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "encore/backends/region/affine.h"
#include "encore/backends/region/scalar.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {
namespace {

class Fuser {
 public:
  explicit Fuser(const Region& region) : region_(region) {}

  std::optional<Region> Fuse() {
    if (region_.contraction.has_value()) return std::nullopt;
    bool found = false;
    for (uint32_t first = 0; first < region_.stages.size(); ++first) {
      for (uint32_t second = first + 1; second < region_.stages.size();
           ++second) {
        if (!FuseSoftmax(first, second) && !FuseVariance(first, second)) {
          continue;
        }
        Remove(first, second);
        found = true;
        break;
      }
    }
    if (!found) return std::nullopt;
    return std::move(region_);
  }

 private:
  const Expr& expr(ExprId id) const { return region_.expr(id); }

  // Whether the expression is the result of the stage, at the same point.
  bool IsResult(ExprId id, uint32_t stage) const {
    if (expr(id).kind != Expr::Kind::kLoad) return false;
    const Access& access = region_.access(id);
    if (access.source != Access::Source::kStage || access.number != stage ||
        access.component != 0) {
      return false;
    }
    const std::vector<uint32_t>& loops = region_.stages[stage].loops;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (PureVariable(access.indices[i]) != loops[i]) return false;
    }
    return true;
  }

  bool IsOp(ExprId id, Op op) const {
    return expr(id).kind == Expr::Kind::kOp && expr(id).op == op;
  }

  // Whether the two run along the same points, in the same precision.
  bool Match(uint32_t first, uint32_t second, RegionCombiner of_first) const {
    const Stage &a = region_.stages[first], &b = region_.stages[second];
    return a.kind == Stage::Kind::kReduce && b.kind == Stage::Kind::kReduce &&
           a.combiner == of_first && b.combiner == RegionCombiner::kSum &&
           a.loops == b.loops && a.reduced == b.reduced && !a.reduced.empty() &&
           IsFloat(a.dtype) && a.dtype == b.dtype &&
           a.accumulate == b.accumulate && a.dtype == a.accumulate &&
           expr(a.value).dtype == a.dtype && expr(b.value).dtype == a.dtype;
  }

  bool FuseSoftmax(uint32_t first, uint32_t second) {
    if (!Match(first, second, RegionCombiner::kMax)) return false;
    const ExprId power = region_.stages[second].value;
    if (!IsOp(power, Op::kExp)) return false;
    const ExprId below = expr(power).operands[0];
    if (!IsOp(below, Op::kSub) ||
        expr(below).operands[0] != region_.stages[first].value ||
        !IsResult(expr(below).operands[1], first)) {
      return false;
    }
    region_.stages[first].combiner = RegionCombiner::kOnlineSoftmax;
    return true;
  }

  bool FuseVariance(uint32_t first, uint32_t second) {
    if (!Match(first, second, RegionCombiner::kSum)) return false;
    const ExprId square = region_.stages[second].value;
    if (!IsOp(square, Op::kMul)) return false;
    const ExprId from_mean = expr(square).operands[0];
    if (expr(square).operands[1] != from_mean || !IsOp(from_mean, Op::kSub) ||
        expr(from_mean).operands[0] != region_.stages[first].value) {
      return false;
    }
    const ExprId mean = expr(from_mean).operands[1];
    const std::optional<ExprId> sum = MeanOf(mean, first);
    if (!sum || !OnlyUsedBy(first, mean)) return false;
    region_.stages[first].combiner = RegionCombiner::kWelford;
    const Expr result = expr(*sum);
    region_.exprs[mean.value()] = result;
    return true;
  }

  // The result of the stage, where `id` is that over the number of what it
  // reduces.
  std::optional<ExprId> MeanOf(ExprId id, uint32_t stage) const {
    const bool divides = IsOp(id, Op::kDiv);
    if (!divides && !IsOp(id, Op::kMul)) return std::nullopt;
    ExprId sum = expr(id).operands[0], factor = expr(id).operands[1];
    if (!divides && !IsResult(sum, stage)) std::swap(sum, factor);
    if (!IsResult(sum, stage) || expr(factor).kind != Expr::Kind::kConstant) {
      return std::nullopt;
    }
    Dim count = 1;
    for (const uint32_t v : region_.stages[stage].reduced) {
      count = count * region_.extents[v];
    }
    if (!count.is_constant()) return std::nullopt;
    const auto number = static_cast<double>(count.constant());
    const double constant = FromBits(expr(factor).dtype, expr(factor).bits).f;
    const bool is_mean = divides ? constant == number : constant * number == 1;
    return is_mean ? std::optional(sum) : std::nullopt;
  }

  // Whether nothing but `user` needs the result of the stage.
  bool OnlyUsedBy(uint32_t stage, ExprId user) const {
    for (uint32_t e = 0; e < region_.exprs.size(); ++e) {
      for (const ExprId operand : region_.exprs[e].operands) {
        if (operand.valid() && Reads(operand, stage) && ExprId(e) != user) {
          return false;
        }
      }
    }
    for (const Stage& of : region_.stages) {
      if (of.value.valid() && Reads(of.value, stage)) return false;
      for (const Store& store : of.stores) {
        if (Reads(store.value, stage)) return false;
        for (const Index& index : store.indices) {
          if (index.indirect.valid() && Reads(index.indirect, stage)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  bool Reads(ExprId id, uint32_t stage) const {
    if (expr(id).kind != Expr::Kind::kLoad) return false;
    const Access& access = region_.access(id);
    return access.source == Access::Source::kStage && access.number == stage;
  }

  // What the second one made is component 1 of the first one's.
  void Remove(uint32_t first, uint32_t second) {
    region_.stages.erase(region_.stages.begin() + second);
    for (Access& access : region_.accesses) {
      if (access.source != Access::Source::kStage) continue;
      if (access.number == second) {
        access.number = first;
        access.component = 1;
      } else if (access.number > second) {
        --access.number;
      }
    }
  }

  Region region_;
};

}  // namespace

std::optional<Region> WithOnlineReductions(const Region& region) {
  return Fuser(region).Fuse();
}

}  // namespace encore::backends
