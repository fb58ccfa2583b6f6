#include "encore/opt/egraph/core/language.h"

#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {

Language::Language() {
  constexpr struct {
    std::string_view name;
    SortId id;
  } kBuiltIn[] = {{"Unit", kUnitSort},
                  {"i64", kI64Sort},
                  {"f64", kF64Sort},
                  {"String", kStringSort},
                  {"bool", kBoolSort}};
  for (const auto& [name, id] : kBuiltIn) {
    const StatusOr<SortId> sort = AddSort(name, id == kUnitSort);
    ENCORE_CHECK(sort.ok() && *sort == id);
  }
}

StatusOr<SortId> Language::AddSort(std::string_view name, bool is_class) {
  const SortId id(sorts_.size());
  if (!sort_names_.try_emplace(std::string(name), id).second) {
    return InvalidArgumentError(StrCat("sort ", name, " is already declared"));
  }
  sorts_.push_back({std::string(name), is_class});
  return id;
}

StatusOr<SortId> Language::AddClassSort(std::string_view name) {
  return AddSort(name, true);
}

StatusOr<SortId> Language::AddLiteralSort(std::string_view name) {
  return AddSort(name, false);
}

StatusOr<OpId> Language::AddOp(OpInfo info) {
  if (ops_.size() >= kMaxOps) {
    return InvalidArgumentError(StrCat("more than ", kMaxOps, " operators"));
  }
  if (info.args.size() > kMaxArity) {
    return InvalidArgumentError(StrCat(
        "operator ", info.name, " has more than ", kMaxArity, " columns"));
  }
  for (const SortId sort : info.args) {
    if (sort.value() >= sorts_.size()) {
      return InvalidArgumentError(
          StrCat("operator ", info.name, " takes a sort that is not declared"));
    }
  }
  if (info.result.value() >= sorts_.size() || !is_class(info.result)) {
    return InvalidArgumentError(
        StrCat("operator ", info.name, " must give a class sort or Unit"));
  }
  const OpId id(ops_.size());
  if (!op_names_.try_emplace(info.name, id).second) {
    return InvalidArgumentError(
        StrCat("operator ", info.name, " is already declared"));
  }
  ops_.push_back(std::move(info));
  return id;
}

StatusOr<OpId> Language::AddRelation(std::string_view name,
                                     std::vector<SortId> args) {
  return AddOp({.name = std::string(name),
                .args = std::move(args),
                .result = kUnitSort,
                .extractable = false});
}

StatusOr<Language::MultiOp> Language::AddMultiOp(std::string_view name,
                                                 std::vector<SortId> args,
                                                 std::vector<SortId> results,
                                                 double cost) {
  MultiOp multi;
  ENCORE_ASSIGN_OR_RETURN(const SortId tuple,
                          AddClassSort(StrCat(name, ".tuple")));
  ENCORE_ASSIGN_OR_RETURN(multi.op, AddOp({.name = std::string(name),
                                           .args = std::move(args),
                                           .result = tuple,
                                           .cost = cost}));
  for (size_t i = 0; i < results.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const OpId projection,
                            AddOp({.name = StrCat(name, ".", i),
                                   .args = {tuple},
                                   .result = results[i],
                                   .cost = 0}));
    multi.projections.push_back(projection);
  }
  return multi;
}

PrimitiveId Language::AddPrimitive(PrimitiveInfo info) {
  primitives_.push_back(std::move(info));
  return PrimitiveId(primitives_.size() - 1);
}

std::optional<SortId> Language::FindSort(std::string_view name) const {
  const auto it = sort_names_.find(std::string(name));
  if (it == sort_names_.end()) return std::nullopt;
  return it->second;
}

std::optional<OpId> Language::FindOp(std::string_view name) const {
  const auto it = op_names_.find(std::string(name));
  if (it == op_names_.end()) return std::nullopt;
  return it->second;
}

std::optional<PrimitiveId> Language::FindPrimitive(
    std::string_view name) const {
  for (size_t i = 0; i < primitives_.size(); ++i) {
    if (primitives_[i].name == name) return PrimitiveId(i);
  }
  return std::nullopt;
}

}  // namespace encore::egraph
