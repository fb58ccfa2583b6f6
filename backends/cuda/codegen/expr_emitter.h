// ExprEmitter: the expressions of a region as declarations, each in the
// outermost scope that has what it needs.
//
// Names: v<k> the variables, e<k> the expressions, in<k> and out<k> the
// operands' memory, a<k> the args, row the number of the outer point, s<k>_<c>
// and b<k>_<c> component c of the result of stage k: a scalar, or an array.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_EXPR_EMITTER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_EXPR_EMITTER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/region/flat/dependences.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// What lies where in a launch.
struct EmitContext {
  const FlatRegion* flat = nullptr;
  const KernelPlan* plan = nullptr;
  bool wide = false;  // indices are i64, else i32
  // Whether stores that combine with what is there are atomic.
  bool atomic = false;

  std::string_view index_type() const { return wide ? "i64" : "i32"; }
  // The same without a sign, for divisions.
  std::string_view unsigned_type() const { return wide ? "u64" : "u32"; }
};

// The type that results of `stage` are kept in.
DType ResultType(const Region& region, uint32_t stage);

class ExprEmitter {
 public:
  // Both outlive it.
  ExprEmitter(const EmitContext& context, std::string* out);

  // From here to the end of the scope `variables` have values.
  void OpenScope(std::span<const uint32_t> variables);
  void CloseScope();

  // Declares what `roots` need and what can be had here: whatever depends on no
  // variable but those that have values. Without `loads`, nothing that reads
  // memory, or fails: where the loops that follow may have no iteration.
  void DeclareHere(const std::vector<bool>& needed, bool loads);
  // Declares all of it. REQUIRES values for what it depends on.
  void Declare(const std::vector<bool>& needed);

  // What a stage evaluates.
  std::vector<bool> NeededBy(uint32_t stage) const;
  // Declares `variables` from their number in row-major order. The scope that
  // has them is the caller's to open.
  void DeclareVariables(std::span<const uint32_t> variables,
                        std::string_view number);
  // How many points they have.
  std::string Count(std::span<const uint32_t> variables) const;

  std::string NameOf(ExprId id) const;
  // Whether the expression depends on one of the variables.
  bool DependsOn(ExprId id, std::span<const uint32_t> variables) const {
    return std::ranges::any_of(variables,
                               [&](uint32_t v) { return depends_.On(id, v); });
  }
  // offset + sum of coefficient * variable.
  std::string AffineCode(const Affine& affine) const;
  // The place of an access: declares what it takes. `condition` is empty where
  // it always exists.
  struct Place {
    std::string address, condition;
  };
  Place PlaceOf(const FlatAccess& access, std::string_view prefix);

  std::string SizeCode(const Size& size) const;

  // From here on lanes keep `expressions`, which stages declare at the steps i
  // of a row, in arrays c<k>, that have been declared: the first to declare one
  // fills it.
  void KeepInRow(std::vector<uint32_t> expressions) {
    kept_ = std::move(expressions);
  }
  // Of these the arrays have been filled.
  void SetFilled(std::vector<uint32_t> filled) { filled_ = std::move(filled); }
  bool IsFilled(uint32_t expression) const {
    return std::ranges::find(filled_, expression) != filled_.end();
  }
  // Whether what is declared from here on is in steps of the row.
  void set_in_row(bool in_row) { in_row_ = in_row; }

  // From here on `vectors` are in arrays: x<k> of the loads, in which the
  // current point is at `load`, y<k> of the stores, in which it is at w. Null:
  // none are.
  void UseVectors(const VectorPlan* vectors, std::string_view load = "w") {
    vectors_ = vectors;
    vector_load_ = load;
  }

  // From here on `loads` are in arrays t<k>, which hold that of the current
  // point at [w][h].
  void UseTiles(std::vector<uint32_t> loads) { tiled_ = std::move(loads); }

  // Whether what is loaded under a condition is loaded whatever that says, of
  // element 0 where it does not hold: so many loads are under way without a
  // branch between them.
  void set_loads_absent(bool loads_absent) { loads_absent_ = loads_absent; }

  // The stores of `stage` at the current point, where it is evaluated.
  void EmitStores(uint32_t stage);

 private:
  void EmitStore(uint32_t stage, size_t number);
  void DeclareOne(uint32_t id);
  std::string LoadCode(uint32_t number, const Expr& expr, uint32_t id);
  std::string CheckedCode(const Expr& expr, uint32_t id);
  // Whether it divides by what was declared before the innermost loop.
  bool HasSameDivisor(const Expr& expr) const;
  // What expression `id` computes.
  std::string CodeOf(const Expr& expr, uint32_t id);

  const EmitContext& context_;
  const FlatRegion& flat_;
  const Region& region_;
  std::string& out_;
  Dependences depends_;
  std::vector<bool> declared_;
  std::vector<bool> variables_;
  struct Scope {
    std::vector<uint32_t> declared, variables;
  };
  std::vector<Scope> scopes_;
  // Expressions that are kept, and those that have been filled.
  std::vector<uint32_t> kept_, filled_;
  std::vector<uint32_t> tiled_;
  bool in_row_ = false;
  bool loads_absent_ = false;
  const VectorPlan* vectors_ = nullptr;
  std::string vector_load_;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_EXPR_EMITTER_H_
