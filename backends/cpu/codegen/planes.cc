#include "encore/backends/cpu/codegen/planes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// The access that sums make to their input through range checks, where there
// is one that does not depend on data.
std::optional<uint32_t> WindowedAccess(const FlatRegion& flat) {
  const Region& region = *flat.region;
  std::optional<uint32_t> found;
  for (const Stage& stage : region.stages) {
    if (stage.kind != Stage::Kind::kReduce) continue;
    const std::vector<bool> needed = Reachable(region, {stage.value});
    for (size_t e = 0; e < needed.size(); ++e) {
      const Expr& expr = region.exprs[e];
      if (!needed[e] || expr.kind != Expr::Kind::kLoad) continue;
      const Access& access = region.accesses[expr.number];
      const FlatAccess& load = flat.loads[expr.number];
      if (!load.checked) continue;
      const bool plain = std::all_of(
          access.indices.begin(), access.indices.end(),
          [](const Index& i) { return !i.indirect.valid() && i.divisor == 1; });
      const bool constant =
          !access.fill.valid() ||
          region.expr(access.fill).kind == Expr::Kind::kConstant;
      if (found || access.source != Access::Source::kInput || !plain ||
          !constant || load.panel != FlatAccess::kNoPanel) {
        return std::nullopt;
      }
      found = expr.number;
    }
  }
  return found;
}

// Whether `variable` stands for itself alone in the flat region.
bool IsWhole(const FlatRegion& flat, uint32_t variable) {
  return flat.region->extents[variable] == Dim(flat.extents[variable]);
}

class Builder {
 public:
  Builder(const FlatRegion& flat, uint32_t access, uint32_t v, uint32_t m,
          int64_t rows, int lanes)
      : flat_(flat), v_(v), m_(m), rows_(rows), lanes_(lanes) {
    planes_.access = access;
    planes_.region = *flat.region;
    planes_.flat = flat;
  }

  std::optional<Planes> Build() {
    const Access original = planes_.region.accesses[planes_.access];
    Access copy = original;
    copy.checked = true;
    for (size_t d = 0; d < original.indices.size(); ++d) {
      if (!AddDim(original.indices[d], &copy.indices[d])) return std::nullopt;
    }
    if (lane_dim_ == nullptr) return std::nullopt;
    AddLaneDim();
    FillAddress();
    Region& region = planes_.region;
    Expr load;
    load.kind = Expr::Kind::kLoad;
    load.dtype = region.inputs[original.number].dtype;
    load.number = AddAccess(&region, copy);
    planes_.load = AddExpr(&region, load);
    // Keeps the variables apart.
    for (uint32_t u = 0; u < region.extents.size(); ++u) {
      Expr variable;
      variable.kind = Expr::Kind::kVariable;
      variable.dtype = DType::kI64;
      variable.number = u;
      AddExpr(&region, variable);
    }
    return std::move(planes_);
  }

 private:
  struct Term {
    uint32_t variable;
    int64_t coefficient;
    int64_t pitch_of;  // the dim of the copy that it moves along
  };

  uint32_t NewVariable(int64_t extent) {
    planes_.region.extents.push_back(Dim(extent));
    planes_.dims.push_back(
        static_cast<uint32_t>(planes_.region.extents.size() - 1));
    planes_.extents.push_back(extent);
    return planes_.dims.back();
  }

  bool IsReduced(uint32_t u) const { return u >= flat_.region->outer; }

  // A dim of the input becomes one of the copy where windows move along it.
  bool AddDim(const Index& index, Index* copy) {
    int64_t span = 0, step = 0;
    bool moves = false;
    Index fixed;
    if (!index.offset.is_constant()) return false;
    fixed.offset = index.offset;
    for (const Index::Term& term : index.terms) {
      const bool here = term.variable == v_ || term.variable == m_ ||
                        IsReduced(term.variable);
      if (!here) {
        fixed.terms.push_back(term);
        continue;
      }
      const int64_t coefficient = term.stride.constant();
      const bool merged = flat_.region->extents[term.variable] != Dim(1) &&
                          !IsWhole(flat_, term.variable);
      if (coefficient < 0 || merged) return false;
      moves = true;
      step = std::gcd(step, coefficient);
      const int64_t extent =
          term.variable == m_ ? Size(rows_) : flat_.extents[term.variable];
      span += coefficient * (extent - 1);
    }
    if (!moves) return true;
    const bool lanes = std::any_of(
        index.terms.begin(), index.terms.end(),
        [this](const Index::Term& term) { return term.variable == v_; });
    if (lanes) {
      if (lane_dim_ != nullptr) return false;
      lane_index_ = index;
      lane_fixed_ = fixed;
      lane_dim_ = copy;
      return true;
    }
    // Only every `step`th position is read.
    const auto dim = static_cast<int64_t>(planes_.dims.size());
    step = std::max<int64_t>(step, 1);
    const uint32_t at = NewVariable(span / step + 1);
    for (const Index::Term& term : index.terms) {
      if (term.variable == m_ || IsReduced(term.variable)) {
        terms_.push_back({term.variable, term.stride.constant() / step, dim});
      }
      if (term.variable == m_) row_dim_ = {dim, term.stride.constant() / step};
      // The rows of a chunk begin where the row variable says.
      if (term.variable == m_) fixed.terms.push_back(term);
    }
    fixed.terms.push_back({at, Dim(step)});
    *copy = Sorted(fixed);
    return true;
  }

  static Index Sorted(Index index) {
    std::sort(index.terms.begin(), index.terms.end(),
              [](const Index::Term& a, const Index::Term& b) {
                return a.variable < b.variable;
              });
    return index;
  }

  void AddLaneDim() {
    int64_t taps = 0;
    for (const Index::Term& term : lane_index_.terms) {
      if (term.variable == v_) {
        stride_ = term.stride.constant();
      } else if (IsReduced(term.variable)) {
        taps += term.stride.constant() * (flat_.extents[term.variable] - 1);
      } else {
        continue;
      }
      phase_step_ = std::gcd(phase_step_, term.stride.constant());
    }
    const auto up = [this](int64_t n) { return RoundUp(n, lanes_); };
    const int64_t positions = up(up(flat_.extents[v_]) + taps / stride_ + 1);
    Index index = lane_fixed_;
    index.terms.push_back(
        {NewVariable(stride_ / phase_step_), Dim(phase_step_)});
    index.terms.push_back({NewVariable(positions), Dim(stride_)});
    *lane_dim_ = Sorted(index);
  }

  void FillAddress() {
    std::vector<int64_t> pitches(planes_.extents.size());
    int64_t pitch = 1;
    for (size_t d = pitches.size(); d-- > 0;) {
      pitches[d] = pitch;
      pitch *= planes_.extents[d];
    }
    FlatAccess access;
    for (const Term& term : terms_) {
      access.address.AddTerm(term.variable,
                             term.coefficient * pitches[term.pitch_of]);
    }
    access.address.AddTerm(v_, 1);
    access.padded = true;
    access.phases = stride_ / phase_step_;
    access.phase_pitch = planes_.extents.back();
    for (const Index::Term& term : lane_index_.terms) {
      if (IsReduced(term.variable)) {
        access.phased.AddTerm(term.variable,
                              term.stride.constant() / phase_step_);
      }
    }
    if (row_dim_.second > 0) {
      planes_.row_step = row_dim_.second * pitches[row_dim_.first];
    }
    planes_.flat.loads[planes_.access] = std::move(access);
  }

  const FlatRegion& flat_;
  const uint32_t v_, m_;
  const int64_t rows_, lanes_;
  Planes planes_;
  std::vector<Term> terms_;
  std::pair<int64_t, int64_t> row_dim_ = {0, 0};
  // Of windows along the lanes; and what all their taps are a multiple of away.
  int64_t stride_ = 1, phase_step_ = 0;
  Index lane_index_, lane_fixed_;
  Index* lane_dim_ = nullptr;
};

}  // namespace

int64_t Planes::elements() const {
  int64_t elements = 1;
  for (const int64_t extent : extents) elements *= extent;
  return elements;
}

std::optional<Planes> MakePlanes(const FlatRegion& flat,
                                 uint32_t vector_variable,
                                 uint32_t row_variable, int64_t rows,
                                 int lanes) {
  const std::optional<uint32_t> access = WindowedAccess(flat);
  if (!access || !IsWhole(flat, vector_variable)) return std::nullopt;
  return Builder(flat, *access, vector_variable, row_variable, rows, lanes)
      .Build();
}

}  // namespace encore::backends::cpu
