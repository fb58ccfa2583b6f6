#include "encore/backends/cuda/library/match.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "encore/backends/cuda/codegen/tile_plan.h"

namespace encore::backends::cuda {
namespace {

using Compute = LibraryRecipe::Compute;
using Matrix = LibraryRecipe::Matrix;

constexpr int64_t kAlignment = 16;
// An algorithm keeps sums of f32 of so many pieces at most, and no more than
// the library's documentation advises.
constexpr int64_t kMostPieces = 32;
constexpr int64_t kMostWorkspace = int64_t{32} << 20;
constexpr int64_t kNoVariable = -1;

// Row-major: element (row, column) of the region's, which is element (column,
// row) of the library's.
class Matcher {
 public:
  Matcher(const FlatRegion& flat, const CompileOptions& options)
      : flat_(flat), region_(*flat.region), options_(options) {}

  std::optional<LibraryRecipe> Match();

 private:
  bool FindVariables(const TilePlan& plan);
  std::optional<Matrix> Factor(ExprId value, int64_t row, bool is_rows) const;
  std::optional<Compute> ComputeOf(DType dtype) const;
  bool MatchStore();
  bool MatchEpilogue(ExprId value);
  bool AddTerm(ExprId value);
  bool IsZero(ExprId id) const;
  bool IsSum(ExprId id) const;
  ExprId BeforeRounding(ExprId id) const;
  int64_t Extent(int64_t variable) const {
    return variable == kNoVariable ? 1 : int64_t{flat_.extents[variable]};
  }
  static int64_t Coefficient(const Affine& address, int64_t variable) {
    return variable == kNoVariable
               ? 0
               : int64_t{address.Coefficient(static_cast<uint32_t>(variable))};
  }
  // The linear address of an input's load; null where it is none.
  const Affine* AddressOf(ExprId load, uint32_t* input) const;
  bool OnlyVariesIn(const Affine& address,
                    std::initializer_list<int64_t> variables) const;
  int64_t AlignmentOf(const Matrix& matrix) const;
  int64_t WorkspaceBytes() const;

  const FlatRegion& flat_;
  const Region& region_;
  const CompileOptions& options_;
  int64_t m_ = kNoVariable, n_ = kNoVariable, k_ = kNoVariable,
          batch_ = kNoVariable;
  LibraryRecipe recipe_;
};

bool Matcher::FindVariables(const TilePlan& plan) {
  if (plan.m.rows.size() != 1 || plan.n.rows.size() != 1 ||
      plan.k.size() != 1 || plan.batch.size() > 1) {
    return false;
  }
  m_ = plan.m.rows[0];
  n_ = plan.n.rows[0];
  k_ = plan.k[0];
  if (!plan.batch.empty()) batch_ = plan.batch[0];
  return std::ranges::all_of(std::initializer_list<int64_t>{m_, n_, k_, batch_},
                             [&](int64_t v) { return Extent(v) >= 1; });
}

const Affine* Matcher::AddressOf(ExprId load, uint32_t* input) const {
  const Expr& expr = region_.expr(load);
  if (expr.kind != Expr::Kind::kLoad) return nullptr;
  const Access& access = region_.accesses[expr.number];
  const FlatAccess& flat = flat_.loads[expr.number];
  if (access.source != Access::Source::kInput || access.checked ||
      flat.checked || !flat.dynamic.empty() || !flat.repeats.empty() ||
      flat.panel != FlatAccess::kNoPanel || int64_t{flat.address.offset} < 0) {
    return nullptr;
  }
  *input = access.number;
  return &flat.address;
}

bool Matcher::OnlyVariesIn(const Affine& address,
                           std::initializer_list<int64_t> variables) const {
  return std::ranges::all_of(address.terms, [&](const auto& term) {
    return int64_t{term.second} > 0 &&
           std::ranges::find(variables, int64_t{term.first}) != variables.end();
  });
}

// Of the library's matrix whose rows are `row`, or whose columns are, and whose
// other dim is the depth.
std::optional<Matrix> Matcher::Factor(ExprId value, int64_t row,
                                      bool is_rows) const {
  const ExprId load = WithoutWidening(region_, value);
  Matrix matrix;
  const Affine* const address = AddressOf(load, &matrix.buffer);
  if (address == nullptr || !OnlyVariesIn(*address, {row, k_, batch_})) {
    return std::nullopt;
  }
  matrix.dtype = region_.expr(load).dtype;
  matrix.offset = int64_t{address->offset};
  matrix.batch_stride = Coefficient(*address, batch_);
  const int64_t along_row = Coefficient(*address, row);
  const int64_t along_k = Coefficient(*address, k_);
  const bool row_dense = along_row == 1 && along_k >= Extent(row);
  const bool k_dense = along_k == 1 && along_row >= Extent(k_);
  if (!row_dense && !k_dense) return std::nullopt;
  matrix.pitch = row_dense ? along_k : along_row;
  // Columns of memory are what is dense: the rows of op(a), the depth of op(b).
  matrix.transposed = row_dense != is_rows;
  return matrix;
}

std::optional<Compute> Matcher::ComputeOf(DType dtype) const {
  if (IsHalf(dtype)) return Compute::kF32;
  if (dtype == DType::kF64) return Compute::kF64;
  if (dtype != DType::kF32) return std::nullopt;
  switch (options_.precision) {
    case Precision::kF32:
      return Compute::kF32;
    case Precision::kTF32:
      return Compute::kTF32;
    case Precision::kBF16:
      return Compute::kBF16;
    case Precision::kF16:
      return Compute::kF16;
  }
  return std::nullopt;
}

bool Matcher::IsZero(ExprId id) const {
  const Expr& expr = region_.expr(WithoutWidening(region_, id));
  return expr.kind == Expr::Kind::kConstant && expr.bits == 0;
}

bool Matcher::IsSum(ExprId id) const {
  const Expr& expr = region_.expr(id);
  return expr.kind == Expr::Kind::kLoad &&
         region_.accesses[expr.number].source == Access::Source::kStage;
}

// What is added to the sum: a bias, or a tensor of the result's order.
bool Matcher::AddTerm(ExprId value) {
  const ExprId load = WithoutWidening(region_, value);
  Matrix matrix;
  const Affine* const address = AddressOf(load, &matrix.buffer);
  if (address == nullptr || region_.expr(load).dtype != recipe_.d.dtype ||
      Coefficient(*address, n_) != 1) {
    return false;
  }
  matrix.dtype = recipe_.d.dtype;
  matrix.offset = int64_t{address->offset};
  if (OnlyVariesIn(*address, {n_})) {
    if (recipe_.bias) return false;
    recipe_.bias = matrix;
    return true;
  }
  matrix.pitch = Coefficient(*address, m_);
  matrix.batch_stride = Coefficient(*address, batch_);
  if (recipe_.c || !OnlyVariesIn(*address, {m_, n_, batch_})) return false;
  recipe_.c = matrix;
  return true;
}

// What the library rounds to the result's dtype, as it does with all that it
// computes in f32; `id` where nothing is rounded there.
ExprId Matcher::BeforeRounding(ExprId id) const {
  const Expr& expr = region_.expr(id);
  const bool rounds = expr.kind == Expr::Kind::kOp && expr.op == Op::kCast &&
                      expr.dtype == recipe_.d.dtype && IsHalf(expr.dtype) &&
                      region_.expr(expr.operands[0]).dtype == DType::kF32;
  return rounds ? expr.operands[0] : id;
}

// Behind that rounding no other one is looked through: results are those of the
// graph, or, where all of it is in halves, of more precision.
bool Matcher::MatchEpilogue(ExprId value) {
  if (region_.expr(value).dtype != recipe_.d.dtype) return false;
  ExprId id = BeforeRounding(value);
  const Expr& last = region_.expr(id);
  if (last.kind == Expr::Kind::kOp && last.op == Op::kMax) {
    const bool first = IsZero(last.operands[0]);
    if (!first && !IsZero(last.operands[1])) return false;
    if (options_.rewrites != Rewrites::kFast) return false;
    recipe_.relu = true;
    id = BeforeRounding(last.operands[first ? 1 : 0]);
  }
  bool tensor_is_last = false;
  while (!IsSum(id)) {
    const Expr& expr = region_.expr(id);
    if (expr.kind != Expr::Kind::kOp || expr.op != Op::kAdd) return false;
    const bool had_bias = recipe_.bias.has_value();
    // A term is a load; what is none has the sum.
    if (AddTerm(expr.operands[1])) {
      id = expr.operands[0];
    } else if (AddTerm(expr.operands[0])) {
      id = expr.operands[1];
    } else {
      return false;
    }
    tensor_is_last |= recipe_.c.has_value() && !had_bias;
  }
  // The library adds the bias last.
  return !recipe_.bias || !tensor_is_last ||
         options_.rewrites >= Rewrites::kReassociate;
}

bool Matcher::MatchStore() {
  if (region_.stages.size() != 2 || region_.outputs.size() != 1 ||
      region_.stages[1].stores.size() != 1 ||
      region_.stages[1].value != ExprId()) {
    return false;
  }
  const Store& store = region_.stages[1].stores[0];
  const FlatAccess& flat = flat_.stores[1][0];
  if (store.checked || store.update != Update::kSet || flat.checked ||
      !flat.dynamic.empty() || int64_t{flat.address.offset} < 0 ||
      !OnlyVariesIn(flat.address, {m_, n_, batch_})) {
    return false;
  }
  Matrix& d = recipe_.d;
  d.dtype = region_.outputs[0].dtype;
  d.offset = int64_t{flat.address.offset};
  d.pitch = Coefficient(flat.address, m_);
  d.batch_stride = Coefficient(flat.address, batch_);
  if (Coefficient(flat.address, n_) != 1) return false;
  return MatchEpilogue(store.value);
}

int64_t Matcher::AlignmentOf(const Matrix& matrix) const {
  const int64_t bytes = BitWidth(matrix.dtype) / 8;
  int64_t alignment = kAlignment;
  while (matrix.offset % alignment * bytes % alignment != 0) alignment /= 2;
  return alignment;
}

int64_t Matcher::WorkspaceBytes() const {
  int64_t bytes = kMostPieces * static_cast<int64_t>(sizeof(float));
  for (const int64_t size : {recipe_.rows, recipe_.columns, recipe_.batch}) {
    bytes = size > kMostWorkspace / bytes ? kMostWorkspace : bytes * size;
  }
  return bytes;
}

std::optional<LibraryRecipe> Matcher::Match() {
  if (flat_.is_symbolic()) return std::nullopt;
  const std::optional<TilePlan> plan = MakeTilePlan(flat_);
  if (!plan || !FindVariables(*plan)) return std::nullopt;
  const auto a = Factor(plan->n.value, n_, /*is_rows=*/true);
  const auto b = Factor(plan->m.value, m_, /*is_rows=*/false);
  if (!a || !b || a->dtype != b->dtype) return std::nullopt;
  const auto compute = ComputeOf(a->dtype);
  // Factors that are widened for the product are no factors of the library's.
  const DType product = region_.expr(region_.stages[0].value).dtype;
  if (!compute || (product == DType::kF64) != (*compute == Compute::kF64)) {
    return std::nullopt;
  }
  recipe_.library = kCublasLt;
  recipe_.version = kCublasLtMajor;
  recipe_.rows = Extent(n_);
  recipe_.columns = Extent(m_);
  recipe_.depth = Extent(k_);
  recipe_.batch = Extent(batch_);
  recipe_.compute = *compute;
  recipe_.a = *a;
  recipe_.b = *b;
  if (!MatchStore()) return std::nullopt;
  for (const LibraryOperand& operand : OperandsOf(recipe_)) {
    recipe_.alignment =
        std::min(recipe_.alignment, AlignmentOf(*operand.matrix));
  }
  recipe_.workspace_bytes = WorkspaceBytes();
  if (!UnsoundField(recipe_).empty()) return std::nullopt;
  return std::move(recipe_);
}

}  // namespace

std::optional<LibraryRecipe> MatchLibrary(const FlatRegion& flat,
                                          const CompileOptions& options) {
  return Matcher(flat, options).Match();
}

}  // namespace encore::backends::cuda
