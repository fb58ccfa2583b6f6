#include "encore/opt/egraph/program/language_map.h"

#include <span>
#include <string>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/egraph.h"

namespace encore::opt::program {
namespace {

egraph::SortId ResultSort(const PrimitiveInfo& info, egraph::SortId operands) {
  switch (info.result) {
    case PrimitiveResult::kOperand:
      return operands;
    case PrimitiveResult::kUnit:
      return egraph::kUnitSort;
    case PrimitiveResult::kBool:
      return egraph::kBoolSort;
  }
  return operands;
}

}  // namespace

LanguageMap::LanguageMap(const Program& program, egraph::Language* language)
    : program_(program) {
  sorts_ = {egraph::kI64Sort, egraph::kF64Sort, egraph::kStringSort,
            egraph::kBoolSort, egraph::kUnitSort};
  globals_.resize(kNumBuiltinSorts);
  primitives_.resize(kNumBuiltinSorts);
  for (SortId sort = 0; sort < kNumBuiltinSorts; ++sort) {
    DeclarePrimitives(sort, language);
  }
}

void LanguageMap::DeclarePrimitives(SortId operands,
                                    egraph::Language* language) {
  for (const PrimitiveInfo& info : Primitives()) {
    if (!info.Takes(operands)) continue;
    const SortId result = info.result == PrimitiveResult::kOperand ? operands
                          : info.result == PrimitiveResult::kBool  ? kBoolSort
                                                                   : kUnitSort;
    egraph::PrimitiveFn function =
        [this, operands, result, primitive = info.primitive](
            const egraph::EGraph& graph, egraph::LiteralPool& pool,
            std::span<const egraph::Value> args, egraph::Value* out) {
          uint64_t bits[2] = {0, 0};
          for (size_t i = 0; i < args.size(); ++i) {
            bits[i] = IsClassSort(operands)
                          ? graph.Find(egraph::ClassId(args[i])).value()
                          : Bits(operands, args[i], pool);
          }
          const std::optional<uint64_t> value = Evaluate(
              primitive, operands, {bits, args.size()}, program_.names.get());
          if (!value.has_value()) return false;
          *out = Literal(result, *value, &pool);
          return true;
        };
    primitives_[operands][static_cast<size_t>(info.primitive)] =
        language->AddPrimitive(
            {std::string(info.name),
             std::vector<egraph::SortId>(info.num_arguments, sorts_[operands]),
             ResultSort(info, sorts_[operands]), std::move(function)});
  }
}

SortId LanguageMap::BuiltinSort(egraph::SortId sort) const {
  SortId builtin = 0;
  while (sorts_[builtin] != sort) ++builtin;
  return builtin;
}

Status LanguageMap::DeclareUpTo(SortId sorts, TableId tables,
                                egraph::Language* language) {
  while (sorts_.size() < sorts) {
    const auto sort = static_cast<SortId>(sorts_.size());
    ENCORE_ASSIGN_OR_RETURN(
        const egraph::SortId id,
        language->AddClassSort(program_.Name(program_.sorts[sort])));
    sorts_.push_back(id);
    ENCORE_ASSIGN_OR_RETURN(
        const egraph::OpId global,
        language->AddOp(
            {.name = StrCat(kGlobalPrefix, program_.Name(program_.sorts[sort])),
             .args = {egraph::kI64Sort},
             .result = id,
             .extractable = false}));
    globals_.push_back(global);
    primitives_.emplace_back();
    DeclarePrimitives(sort, language);
  }
  while (tables_.size() < tables) {
    const Table& table = program_.tables[tables_.size()];
    std::vector<egraph::SortId> columns;
    for (const SortId column : table.arguments) {
      columns.push_back(sorts_[column]);
    }
    const std::string name(program_.Name(table.name));
    StatusOr<egraph::OpId> id =
        table.relation
            ? language->AddRelation(name, std::move(columns))
            : language->AddOp({name, std::move(columns), sorts_[table.result],
                               static_cast<double>(table.cost),
                               !table.unextractable});
    if (!id.ok()) return id.status();
    tables_.push_back(*id);
  }
  return OkStatus();
}

egraph::Value LanguageMap::Literal(SortId sort, uint64_t bits,
                                   egraph::LiteralPool* pool) const {
  switch (sort) {
    case kI64Sort:
      return pool->I64(static_cast<int64_t>(bits));
    case kF64Sort:
      return pool->F64(F64Value(bits));
    case kStringSort:
      return pool->String(program_.Name(static_cast<Symbol>(bits)));
    case kBoolSort:
      return pool->Bool(bits != 0);
    default:
      return 0;  // the unit class
  }
}

uint64_t LanguageMap::Bits(SortId sort, egraph::Value value,
                           const egraph::LiteralPool& pool) const {
  switch (sort) {
    case kI64Sort:
      return static_cast<uint64_t>(pool.AsI64(value));
    case kF64Sort:
      return F64Bits(pool.AsF64(value));
    case kStringSort:
      return program_.names->Intern(pool.AsString(value));
    case kBoolSort:
      return pool.AsBool(value) ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace encore::opt::program
