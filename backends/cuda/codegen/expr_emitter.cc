#include "encore/backends/cuda/codegen/expr_emitter.h"

#include <algorithm>

#include "encore/backends/cuda/codegen/atomics.h"
#include "encore/backends/cuda/codegen/loops/row_loads.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/size_code.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {

namespace {

bool Contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

bool HasElements(const Operand& operand) {
  return std::ranges::all_of(operand.dims, [](const Dim& dim) {
    return dim.is_constant() && dim.constant() > 0;
  });
}

}  // namespace

DType ResultType(const Region& region, uint32_t stage) {
  const Stage& of = region.stages[stage];
  return of.kind == Stage::Kind::kMap ? region.expr(of.value).dtype : of.dtype;
}

ExprEmitter::ExprEmitter(const EmitContext& context, std::string* out)
    : context_(context),
      flat_(*context.flat),
      region_(*context.flat->region),
      out_(*out),
      depends_(flat_),
      declared_(region_.exprs.size()),
      variables_(region_.extents.size()) {
  scopes_.emplace_back();
}

void ExprEmitter::OpenScope(std::span<const uint32_t> variables) {
  Scope& scope = scopes_.emplace_back();
  for (const uint32_t v : variables) {
    if (variables_[v]) continue;
    variables_[v] = true;
    scope.variables.push_back(v);
  }
}

void ExprEmitter::CloseScope() {
  for (const uint32_t e : scopes_.back().declared) declared_[e] = false;
  for (const uint32_t v : scopes_.back().variables) variables_[v] = false;
  scopes_.pop_back();
}

std::vector<bool> ExprEmitter::NeededBy(uint32_t stage) const {
  return cuda::NeededBy(region_, stage);
}

void ExprEmitter::DeclareVariables(std::span<const uint32_t> variables,
                                   std::string_view number) {
  std::string rest(number);
  for (size_t i = variables.size(); i-- > 0;) {
    const uint32_t v = variables[i];
    if (i == 0) {
      StrAppend(&out_, "const ", context_.index_type(), " v", v, " = ", rest,
                ";\n");
      continue;
    }
    const std::string quotient = StrCat("q", v);
    const std::string_view type = context_.unsigned_type();
    const std::string extent =
        StrCat("(", type, ")", SizeCode(flat_.extents[v]));
    StrAppend(&out_, "const ", context_.index_type(), " ", quotient, " = (",
              context_.index_type(), ")((", type, ")", rest, " / ", extent,
              ");\nconst ", context_.index_type(), " v", v, " = (",
              context_.index_type(), ")((", type, ")", rest, " % ", extent,
              ");\n");
    rest = quotient;
  }
}

std::string ExprEmitter::Count(std::span<const uint32_t> variables) const {
  Size count = 1;
  for (const uint32_t v : variables) count *= flat_.extents[v];
  return SizeCode(count);
}

void ExprEmitter::DeclareHere(const std::vector<bool>& needed, bool loads) {
  for (uint32_t e = 0; e < needed.size(); ++e) {
    const ExprId id(e);
    if (!needed[e] || declared_[e] || (depends_.Reads(id) && !loads)) continue;
    bool ready = true;
    for (uint32_t v = 0; v < variables_.size(); ++v) {
      ready &= !depends_.On(id, v) || variables_[v];
    }
    if (ready) DeclareOne(e);
  }
}

void ExprEmitter::Declare(const std::vector<bool>& needed) {
  for (uint32_t e = 0; e < needed.size(); ++e) {
    if (needed[e] && !declared_[e]) DeclareOne(e);
  }
}

std::string ExprEmitter::NameOf(ExprId id) const {
  ENCORE_CHECK(declared_[id.value()]) << "not declared here";
  const Expr& expr = region_.expr(id);
  if (expr.kind == Expr::Kind::kConstant) {
    return ConstantCode(expr.dtype, expr.bits);
  }
  return StrCat("e", id.value());
}

std::string ExprEmitter::SizeCode(const Size& size) const {
  return StrCat(
      size.is_constant() ? "" : StrCat("(", context_.index_type(), ")"),
      DimCode(size.dim()));
}

std::string ExprEmitter::AffineCode(const Affine& affine) const {
  std::string code;
  for (const auto& [v, coefficient] : affine.terms) {
    if (flat_.extents[v] == 1) continue;
    if (!code.empty()) code += " + ";
    StrAppend(&code, "v", v);
    if (!(coefficient == 1)) StrAppend(&code, " * ", SizeCode(coefficient));
  }
  if (code.empty() || !(affine.offset == 0)) {
    StrAppend(&code, code.empty() ? "" : " + ", "(", context_.index_type(), ")",
              SizeCode(affine.offset));
  }
  return code;
}

ExprEmitter::Place ExprEmitter::PlaceOf(const FlatAccess& access,
                                        std::string_view prefix) {
  Place place;
  place.address = AffineCode(access.address);
  int number = 0;
  for (const DynamicIndex& dynamic : access.dynamic) {
    const std::string n = StrCat(prefix, "n", number++);
    // What comes from data may be any i64.
    const bool indirect = dynamic.indirect.valid();
    const std::string_view type = indirect ? "i64" : context_.index_type();
    StrAppend(&out_, "const ", type, " ", n, " = ", AffineCode(dynamic.index));
    if (indirect) StrAppend(&out_, " + ", NameOf(dynamic.indirect));
    out_ += ";\n";
    std::string quotient = n;
    if (dynamic.divisor > 1) {
      quotient = StrCat(n, " / ", dynamic.divisor);
      StrAppend(&place.condition, place.condition.empty() ? "" : " && ", n,
                " % ", dynamic.divisor, " == 0");
    }
    if (dynamic.checked) {
      StrAppend(&place.condition, place.condition.empty() ? "" : " && ",
                "(u64)(i64)(", quotient, ") < (u64)",
                DimCode(dynamic.extent.dim()));
    }
    if (dynamic.block > 1) {
      StrAppend(&place.address, " + (", context_.index_type(), ")(", quotient,
                ") / ", dynamic.block, " * ", SizeCode(dynamic.block_stride),
                " + (", context_.index_type(), ")(", quotient, ") % ",
                dynamic.block, " * ", SizeCode(dynamic.stride));
    } else if (!(dynamic.stride == 0)) {
      const std::string added =
          dynamic.divisor > 1 ? quotient : NameOf(dynamic.indirect);
      StrAppend(&place.address, " + (", context_.index_type(), ")(", added,
                ") * ", SizeCode(dynamic.stride));
    }
  }
  return place;
}

void ExprEmitter::EmitStores(uint32_t stage) {
  for (size_t i = 0; i < region_.stages[stage].stores.size(); ++i) {
    EmitStore(stage, i);
  }
}

void ExprEmitter::EmitStore(uint32_t stage, size_t number) {
  const Store& store = region_.stages[stage].stores[number];
  const DType dtype = region_.outputs[store.output].dtype;
  if (vectors_ != nullptr && vectors_->stores[number]) {
    StrAppend(&out_, "st_", dtype, "(y", number, ", w, (", CType(dtype), ")",
              NameOf(store.value), ");\n");
    return;
  }
  out_ += "{\n";
  const Place place = PlaceOf(flat_.stores[stage][number], "store");
  if (!place.condition.empty()) StrAppend(&out_, "if (", place.condition, ") ");
  StrAppend(&out_, "{\nconst ", context_.index_type(), " at = ", place.address,
            ";\n");
  std::string value = NameOf(store.value);
  if (store.update != Update::kSet && context_.atomic) {
    StrAppend(&out_,
              AtomicCode(store.update, dtype, StrCat("out", store.output), "at",
                         value),
              "}\n}\n");
    return;
  }
  if (store.update != Update::kSet) {
    const std::string held = StrCat(IsPacked(dtype) ? "staged_" : "ld_", dtype,
                                    "(out", store.output, ", at)");
    value = BinaryCode(OpOf(store.update), dtype, held,
                       StrCat("(", CType(dtype), ")", value));
  }
  StrAppend(&out_, "st_", dtype, "(out", store.output, ", at, (", CType(dtype),
            ")", value, ");\n}\n}\n");
}

std::string ExprEmitter::LoadCode(uint32_t number, const Expr& expr,
                                  uint32_t id) {
  const Access& access = region_.accesses[number];
  const Place place = PlaceOf(flat_.loads[number], StrCat("e", id));
  std::string value, condition = place.condition;
  if (access.source == Access::Source::kInput) {
    std::string address = place.address;
    if (!condition.empty() && loads_absent_ &&
        HasElements(region_.inputs[access.number])) {
      const std::string there = StrCat("there", id);
      StrAppend(&out_, "const bool ", there, " = ", condition, ";\nconst ",
                CType(expr.dtype), " any", id, " = ld_", expr.dtype, "(in",
                access.number, ", ", there, " ? ", address, " : 0);\n");
      condition = there;
      value = StrCat("any", id);
    } else {
      value =
          StrCat("ld_", expr.dtype, "(in", access.number, ", ", address, ")");
    }
  } else {
    const std::string name = StrCat(access.number, "_", access.component);
    value = context_.plan->results[access.number] == Storage::kRegister
                ? StrCat("s", name)
            : context_.plan->results[access.number] == Storage::kLane
                ? StrCat("b", name, "[i]")
                : StrCat("b", name, "[", place.address, "]");
  }
  if (condition.empty()) return value;
  const std::string fill = access.fill.valid()
                               ? NameOf(access.fill)
                               : StrCat("(", CType(expr.dtype), ")0");
  return StrCat(condition, " ? ", value, " : ", fill);
}

std::string ExprEmitter::CheckedCode(const Expr& expr, uint32_t id) {
  const IndexCheck& check = region_.checks[expr.number];
  const std::string index = NameOf(expr.operands[0]);
  std::string position = AffineCode(flat_.positions[expr.number]);
  if (check.position.indirect.valid()) {
    StrAppend(&position, " + ", NameOf(check.position.indirect));
  }
  const std::string ok = StrCat("ok", id);
  const std::string count = DimCode(check.count);
  StrAppend(&out_, "const bool ", ok, " = (u64)", index, " < (u64)", count,
            ";\nif (!", ok, ") Report(fault, ", expr.number, ", ", check.node,
            ", ", check.component, ", ", position, ", ", index, ", ", count,
            ", ", DimCode(check.extent), ");\n");
  return StrCat(ok, " ? ", index, " : 0");
}

void ExprEmitter::DeclareOne(uint32_t id) {
  const Expr& expr = region_.exprs[id];
  declared_[id] = true;
  scopes_.back().declared.push_back(id);
  if (expr.kind == Expr::Kind::kConstant) return;
  std::string code;
  if (in_row_ && IsFilled(id)) {
    code = StrCat("c", id, "[i]");
  } else {
    code = CodeOf(expr, id);
    if (in_row_ && Contains(kept_, id)) {
      filled_.push_back(id);
      code = StrCat("c", id, "[i] = ", code);
    }
  }
  StrAppend(&out_, "const ", CType(expr.dtype), " e", id, " = ", code, ";\n");
}

bool ExprEmitter::HasSameDivisor(const Expr& expr) const {
  const bool in_loop = in_row_ || vectors_ != nullptr;
  if (expr.op != Op::kDiv || !in_loop) return false;
  const ExprId divisor = expr.operands[1];
  return region_.expr(divisor).kind == Expr::Kind::kConstant ||
         !Contains(scopes_.back().declared, divisor.value());
}

std::string ExprEmitter::CodeOf(const Expr& expr, uint32_t id) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      return ConstantCode(expr.dtype, expr.bits);
    case Expr::Kind::kVariable:
      return flat_.extents[expr.number] == 1 ? "0" : StrCat("v", expr.number);
    case Expr::Kind::kDim:
      return DimCode(expr.dim);
    case Expr::Kind::kLoad:
      if (vectors_ != nullptr && Contains(vectors_->loads, id)) {
        return StrCat("ld_", expr.dtype, "(x", id, ", ", vector_load_, ")");
      }
      if (Contains(tiled_, id)) {
        return StrCat("ld_", expr.dtype, "(t", id, "[w], h)");
      }
      return LoadCode(expr.number, expr, id);
    case Expr::Kind::kOp: {
      std::vector<std::string> operands;
      for (const ExprId operand : expr.operands) {
        if (operand.valid()) operands.push_back(NameOf(operand));
      }
      return OpCode(region_, expr, operands, HasSameDivisor(expr));
    }
    case Expr::Kind::kChecked:
      return CheckedCode(expr, id);
  }
  return {};
}

}  // namespace encore::backends::cuda
