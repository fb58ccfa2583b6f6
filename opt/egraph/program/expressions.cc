#include "encore/opt/egraph/program/expressions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

// Functions of the full language that are not part of the subset.
constexpr std::string_view kUnsupportedFunctions[] = {
    "exp",    "log",          "sqrt",          "cbrt",         "to-f64",
    "to-i64", "to-string",    "count-matches", "replace",      "=>",
    "bigint", "bigrat",       "bits",          "ceil",         "floor",
    "round",  "denom",        "numer",         "pow",          "from-string",
    "not-Z",  "ordering-max", "ordering-min",  "value-eq",     "rational",
    "pair",   "get-cost!",    "set-cost",      "query-extract"};
constexpr std::string_view kUnsupportedPrefixes[] = {
    "map-", "set-", "vec-", "multiset-", "pair-", "unstable-"};

bool IsUnsupportedFunction(std::string_view name) {
  for (const std::string_view prefix : kUnsupportedPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return std::find(std::begin(kUnsupportedFunctions),
                   std::end(kUnsupportedFunctions),
                   name) != std::end(kUnsupportedFunctions);
}

const PrimitiveInfo* FindPrimitive(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new absl::flat_hash_map<std::string_view, const PrimitiveInfo*,
                                        std::hash<std::string_view>>();
    for (const PrimitiveInfo& info : Primitives())
      map->emplace(info.name, &info);
    return map;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

}  // namespace

std::string_view CheckContext::Text(uint32_t i) const {
  const Sexpr& n = node(i);
  if (n.kind != SexprKind::kSymbol && n.kind != SexprKind::kString) return "";
  return program->names->Text(static_cast<uint32_t>(n.payload));
}

std::vector<uint32_t> CheckContext::Elements(uint32_t i) const {
  std::vector<uint32_t> elements;
  for (uint32_t e = i + 1; e < node(i).end; e = node(e).end) {
    elements.push_back(e);
  }
  return elements;
}

void ExpressionBuilder::Begin() {
  doomed_ = false;
  start_ = static_cast<ExprId>(context_.program->exprs.size());
  sort_of_.clear();
  sort_classes_.clear();
  for (const Variable& variable : variables_) {
    if (variable.name < variable_of_symbol_.size()) {
      variable_of_symbol_[variable.name] = 0;
    }
  }
  variables_.clear();
  for (SortId sort = 0; sort < kNumBuiltinSorts; ++sort) NewSortClass(sort);
}

ExprId ExpressionBuilder::Build(uint32_t root, Mode mode) {
  const auto emitted = [this] {
    if (!frames_.empty()) ++frames_.back().num_arguments;
  };
  const uint32_t end = context_.node(root).end;
  for (uint32_t i = root; i < end || !frames_.empty();) {
    if (!frames_.empty() && context_.node(frames_.back().list).end == i) {
      const Frame frame = frames_.back();
      frames_.pop_back();
      EmitCall(frame);
      emitted();
      continue;
    }
    const Sexpr& node = context_.node(i);
    if (node.kind != SexprKind::kList || node.end == i + 1) {
      EmitAtom(i++, mode);
      emitted();
      continue;
    }
    frames_.push_back(
        {i, static_cast<ExprId>(context_.program->exprs.size()), 0});
    if (context_.node(i + 1).kind == SexprKind::kSymbol) {
      i += 2;
    } else {
      context_.Reject(i, "a call must start with a name");
      Doom();
      i = context_.node(i + 1).end;
    }
  }
  return static_cast<ExprId>(context_.program->exprs.size() - 1);
}

void ExpressionBuilder::Emit(ExprKind kind, uint32_t i, uint32_t sort_class,
                             uint32_t index, uint64_t literal) {
  std::vector<Expr>& exprs = context_.program->exprs;
  Expr expr{.kind = kind};
  expr.index = index;
  expr.first = static_cast<ExprId>(exprs.size());
  expr.offset = context_.node(i).offset;
  expr.literal = literal;
  exprs.push_back(expr);
  sort_of_.push_back(sort_class);
}

void ExpressionBuilder::EmitAtom(uint32_t i, Mode mode) {
  const Sexpr& node = context_.node(i);
  switch (node.kind) {
    case SexprKind::kSymbol:
      return EmitSymbol(i, mode);
    case SexprKind::kInteger:
      return Emit(ExprKind::kLiteral, i, kI64Sort, 0, node.payload);
    case SexprKind::kFloat:
      return Emit(ExprKind::kLiteral, i, kF64Sort, 0,
                  F64Bits(F64Value(node.payload)));
    case SexprKind::kString:
      return Emit(ExprKind::kLiteral, i, kStringSort, 0, node.payload);
    case SexprKind::kBool:
      return Emit(ExprKind::kLiteral, i, kBoolSort, 0, node.payload);
    case SexprKind::kList:
      return Emit(ExprKind::kLiteral, i, kUnitSort, 0, 0);
  }
}

void ExpressionBuilder::EmitSymbol(uint32_t i, Mode mode) {
  const auto name = static_cast<Symbol>(context_.node(i).payload);
  const NameMeaning meaning = context_.scope->Find(name);
  if (meaning.kind == NameKind::kGlobal) {
    const SortId sort = context_.program->globals[meaning.id].sort;
    return Emit(ExprKind::kGlobal, i, NewSortClass(sort), meaning.id);
  }
  const bool wildcard = context_.Text(i) == "_";
  if (!wildcard && name < variable_of_symbol_.size() &&
      variable_of_symbol_[name] != 0) {
    const uint32_t variable = variable_of_symbol_[name] - 1;
    return Emit(ExprKind::kVariable, i, variables_[variable].sort, variable);
  }
  if (mode == Mode::kAction) {
    context_.Reject(i, StrCat("unbound name ", context_.Text(i)));
    return EmitPlaceholder(
        i, static_cast<ExprId>(context_.program->exprs.size()), 0);
  }
  if (!wildcard && !CheckNewVariable(i)) Doom();
  const uint32_t sort_class = NewSortClass(kUnknownSort);
  uint32_t variable = static_cast<uint32_t>(variables_.size());
  if (wildcard) {
    variables_.push_back({name, sort_class});
  } else {
    variable = AddVariable(name, sort_class);
  }
  Emit(ExprKind::kVariable, i, sort_class, variable);
}

bool ExpressionBuilder::CheckNewVariable(uint32_t i) {
  const auto name = static_cast<Symbol>(context_.node(i).payload);
  if (context_.scope->Find(name).kind != NameKind::kNone) {
    context_.Reject(i, StrCat("variable ", context_.Text(i),
                              " has the name of a declaration"));
    return false;
  }
  if (context_.scope->IsGlobalWithoutPrefix(name)) {
    context_.Reject(i,
                    StrCat("variable ", context_.Text(i),
                           " has the name of the global $", context_.Text(i)));
    return false;
  }
  return true;
}

uint32_t ExpressionBuilder::AddVariable(Symbol name, uint32_t sort_class) {
  variables_.push_back({name, sort_class});
  if (name >= variable_of_symbol_.size()) variable_of_symbol_.resize(name + 1);
  variable_of_symbol_[name] = static_cast<uint32_t>(variables_.size());
  return static_cast<uint32_t>(variables_.size() - 1);
}

uint32_t ExpressionBuilder::Bind(uint32_t i, ExprId value) {
  const auto name = static_cast<Symbol>(context_.node(i).payload);
  const bool bound =
      name < variable_of_symbol_.size() && variable_of_symbol_[name] != 0;
  if (context_.node(i).kind != SexprKind::kSymbol) {
    context_.Reject(i, "a let wants a name");
    Doom();
    return 0;
  }
  if (bound) {
    context_.Reject(i,
                    StrCat("variable ", context_.Text(i), " is bound already"));
  }
  if (bound || !CheckNewVariable(i)) Doom();
  return AddVariable(name, SortClassOf(value));
}

ExprId ExpressionBuilder::FreshVariable(uint32_t i) {
  const uint32_t sort_class = NewSortClass(kUnknownSort);
  const Symbol wildcard = context_.program->names->Intern("_");
  variables_.push_back({wildcard, sort_class});
  Emit(ExprKind::kVariable, i, sort_class, num_variables() - 1);
  return static_cast<ExprId>(context_.program->exprs.size() - 1);
}

ExprId ExpressionBuilder::Mention(ExprId variable, uint32_t i) {
  Emit(ExprKind::kVariable, i, SortClassOf(variable),
       context_.program->exprs[variable].index);
  return static_cast<ExprId>(context_.program->exprs.size() - 1);
}

void ExpressionBuilder::EmitPlaceholder(uint32_t i, ExprId first,
                                        uint32_t num_arguments) {
  Doom();
  Emit(ExprKind::kLiteral, i, NewSortClass(kUnknownSort), 0);
  context_.program->exprs.back().first = first;
  context_.program->exprs.back().num_arguments = num_arguments;
}

void ExpressionBuilder::EmitCall(const Frame& frame) {
  const uint32_t head = frame.list + 1;
  if (context_.node(head).kind != SexprKind::kSymbol) {
    return EmitPlaceholder(frame.list, frame.first, frame.num_arguments);
  }
  const NameMeaning meaning =
      context_.scope->Find(static_cast<Symbol>(context_.node(head).payload));
  if (meaning.kind == NameKind::kTable) return EmitTableCall(frame, meaning.id);
  if (meaning.kind == NameKind::kNone) {
    const PrimitiveInfo* info = FindPrimitive(context_.Text(head));
    if (info != nullptr) return EmitPrimitiveCall(frame, info->primitive);
  }
  UnknownFunction(frame);
}

void ExpressionBuilder::UnknownFunction(const Frame& frame) {
  const std::string_view name = context_.Text(frame.list + 1);
  if (IsUnsupportedFunction(name)) {
    context_.Unsupported(frame.list, StrCat("primitive ", name));
  } else if (name == "=") {
    context_.Reject(frame.list, "= stands only at the top of a fact");
  } else {
    context_.Reject(
        frame.list,
        StrCat("unknown constructor, relation or primitive ", name));
  }
  EmitPlaceholder(frame.list, frame.first, frame.num_arguments);
}

void ExpressionBuilder::BadArgumentCount(const Frame& frame,
                                         uint32_t expected) {
  context_.Reject(frame.list,
                  StrCat(context_.Text(frame.list + 1), " takes ", expected,
                         " arguments and has ", frame.num_arguments));
  EmitPlaceholder(frame.list, frame.first, frame.num_arguments);
}

void ExpressionBuilder::EmitTableCall(const Frame& frame, TableId id) {
  const Table& table = context_.program->tables[id];
  if (table.arguments.size() != frame.num_arguments) {
    return BadArgumentCount(frame,
                            static_cast<uint32_t>(table.arguments.size()));
  }
  Emit(ExprKind::kTable, frame.list, NewSortClass(table.result), id);
  Expr& expr = context_.program->exprs.back();
  expr.first = frame.first;
  expr.num_arguments = frame.num_arguments;
  Arguments(*context_.program,
            static_cast<ExprId>(context_.program->exprs.size() - 1),
            &arguments_);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    UnifyClasses(SortClassOf(arguments_[i]), NewSortClass(table.arguments[i]),
                 context_.program->exprs[arguments_[i]].offset);
  }
}

void ExpressionBuilder::EmitPrimitiveCall(const Frame& frame,
                                          Primitive primitive) {
  const PrimitiveInfo& info = Info(primitive);
  const uint32_t count = frame.num_arguments;
  if (count != info.num_arguments) {
    // The full language has + on any number of Strings, and or on any number.
    const bool text = primitive == Primitive::kAdd && count > 0 &&
                      sort_classes_[Root(sort_of_.back())].sort == kStringSort;
    if (!text && primitive != Primitive::kOr) {
      return BadArgumentCount(frame, info.num_arguments);
    }
    context_.Unsupported(frame.list, StrCat("primitive ", info.name, " of ",
                                            count, " arguments"));
    return EmitPlaceholder(frame.list, frame.first, count);
  }
  const auto self = static_cast<ExprId>(context_.program->exprs.size());
  const uint32_t operand = SortClassOf(self - 1);
  const SortId result =
      info.result == PrimitiveResult::kBool ? kBoolSort : kUnitSort;
  Emit(ExprKind::kPrimitive, frame.list,
       info.result == PrimitiveResult::kOperand ? operand : result,
       static_cast<uint32_t>(primitive));
  Expr& expr = context_.program->exprs.back();
  expr.first = frame.first;
  expr.num_arguments = count;
  if (count == 2) {
    const ExprId left = context_.program->exprs[self - 1].first - 1;
    UnifyClasses(SortClassOf(left), operand, expr.offset);
  }
  // Power is for Finish to turn down.
  const bool power = primitive == Primitive::kBitXor &&
                     sort_classes_[Root(operand)].sort == kF64Sort;
  if (std::has_single_bit(info.operands) && !power) {
    const auto only = static_cast<SortId>(std::countr_zero(info.operands));
    UnifyClasses(operand, only, expr.offset);
  }
}

uint32_t ExpressionBuilder::NewSortClass(SortId sort) {
  if (sort < sort_classes_.size() && sort < kNumBuiltinSorts) return sort;
  const auto id = static_cast<uint32_t>(sort_classes_.size());
  sort_classes_.push_back({id, sort});
  return id;
}

uint32_t ExpressionBuilder::Root(uint32_t sort_class) {
  while (sort_classes_[sort_class].parent != sort_class) {
    uint32_t& parent = sort_classes_[sort_class].parent;
    parent = sort_classes_[parent].parent;
    sort_class = parent;
  }
  return sort_class;
}

void ExpressionBuilder::UnifyClasses(uint32_t a, uint32_t b, uint32_t offset) {
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  const SortId sort_a = sort_classes_[a].sort;
  const SortId sort_b = sort_classes_[b].sort;
  if (sort_a != kUnknownSort && sort_b != kUnknownSort) {
    if (sort_a == sort_b) return;
    context_.diagnostics->Reject({context_.file, offset},
                                 StrCat("sort ", SortName(sort_a), " where ",
                                        SortName(sort_b), " is wanted"));
    Doom();
    return;
  }
  if (sort_a == kUnknownSort) std::swap(a, b);
  sort_classes_[b].parent = a;
}

void ExpressionBuilder::Unify(ExprId a, ExprId b, uint32_t i) {
  UnifyClasses(SortClassOf(a), SortClassOf(b), context_.node(i).offset);
}

std::string ExpressionBuilder::SortName(SortId sort) const {
  return std::string(
      context_.program->names->Text(context_.program->sorts[sort]));
}

bool ExpressionBuilder::FinishPrimitive(ExprId e) {
  const Expr& expr = context_.program->exprs[e];
  const auto primitive = static_cast<Primitive>(expr.index);
  const SortId operand = context_.program->exprs[e - 1].sort;
  if (Info(primitive).Takes(operand)) return true;
  const Position position{context_.file, expr.offset};
  const std::string what = StrCat("primitive ", Info(primitive).name,
                                  " on sort ", SortName(operand));
  if (primitive == Primitive::kBitXor && operand == kF64Sort) {
    context_.diagnostics->Unsupported(position, what);
  } else {
    context_.diagnostics->Reject(position, StrCat("no ", what));
  }
  return false;
}

bool ExpressionBuilder::Finish(std::vector<Variable>* variables) {
  std::vector<Expr>& exprs = context_.program->exprs;
  for (ExprId e = start_; !doomed_ && e < exprs.size(); ++e) {
    const SortId sort = sort_classes_[Root(SortClassOf(e))].sort;
    exprs[e].sort = sort;
    if (sort == kUnknownSort) {
      context_.diagnostics->Reject({context_.file, exprs[e].offset},
                                   "the sort of this cannot be inferred");
      Doom();
    } else if (exprs[e].kind == ExprKind::kPrimitive && !FinishPrimitive(e)) {
      Doom();
    }
  }
  if (doomed_) {
    exprs.resize(start_);
    return false;
  }
  if (variables == nullptr) return true;
  variables->clear();
  for (const Variable& variable : variables_) {
    variables->push_back(
        {variable.name, sort_classes_[Root(variable.sort)].sort});
  }
  return true;
}

}  // namespace encore::opt::program
