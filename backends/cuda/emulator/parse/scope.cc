#include "encore/backends/cuda/emulator/parse/scope.h"

#include <algorithm>
#include <iterator>

#include "encore/ir/support/parse_number.h"

namespace encore::ptx {

FunctionScope::FunctionScope(const Module& module, const ModuleNames& names,
                             Function* function)
    : module_(module), names_(names), function_(*function) {}

void FunctionScope::Push() { levels_.emplace_back(); }

void FunctionScope::Settle(const Reference& reference, uint32_t target) {
  if (reference.in_table) {
    function_.branch_tables[reference.index][reference.entry] = target;
  } else {
    function_.code[reference.index].target = target;
  }
}

std::optional<std::pair<uint32_t, std::string>> FunctionScope::Pop() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  for (Reference& reference : level.references) {
    const auto label = level.labels.find(reference.label);
    if (label != level.labels.end()) {
      Settle(reference, label->second);
    } else if (levels_.empty()) {
      return std::pair(reference.line, reference.label);
    } else {
      levels_.back().references.push_back(std::move(reference));
    }
  }
  return std::nullopt;
}

bool FunctionScope::Declare(std::string name, const Symbol& symbol) {
  return levels_.back().names.emplace(std::move(name), symbol).second;
}

bool FunctionScope::DeclareRegister(std::string name, Type type) {
  Symbol symbol;
  symbol.type = type;
  symbol.index = function_.slots;
  if (!Declare(std::move(name), symbol)) return false;
  ++function_.slots;
  return true;
}

bool FunctionScope::DeclareRegisters(std::string prefix, uint64_t count,
                                     Type type) {
  return levels_.back()
      .ranges.emplace(std::move(prefix), Range{count, type})
      .second;
}

bool FunctionScope::DefineLabel(std::string_view name) {
  return levels_.back()
      .labels
      .emplace(std::string(name), static_cast<uint32_t>(function_.code.size()))
      .second;
}

uint32_t FunctionScope::TableNumber(std::string_view name) {
  const auto [table, added] =
      tables_.emplace(name, static_cast<uint32_t>(tables_.size()));
  if (added) function_.branch_tables.emplace_back();
  return table->second;
}

void FunctionScope::AddTableEntry(uint32_t table, std::string_view label,
                                  uint32_t line) {
  std::vector<uint32_t>& entries = function_.branch_tables[table];
  Reference reference{std::string(label), line, true, table,
                      static_cast<uint32_t>(entries.size())};
  entries.push_back(0);
  levels_.back().references.push_back(std::move(reference));
}

void FunctionScope::BranchTo(std::string_view label, uint32_t line) {
  levels_.back().references.push_back(
      {std::string(label), line, false,
       static_cast<uint32_t>(function_.code.size()), 0});
}

std::optional<Symbol> FunctionScope::Find(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  const size_t digits = last == std::string_view::npos ? 0 : last + 1;
  const std::string whole(name);
  const std::string prefix(name.substr(0, digits));
  const std::string_view suffix = name.substr(digits);
  const bool plain = suffix.size() == 1 || !suffix.starts_with('0');
  const auto number = plain ? ParseNumber<uint64_t>(suffix) : std::nullopt;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    const auto found = level->names.find(whole);
    if (found != level->names.end()) return found->second;
    if (!number.has_value()) continue;
    const auto range = level->ranges.find(prefix);
    if (range == level->ranges.end() || *number >= range->second.count) {
      continue;
    }
    Symbol symbol;
    symbol.type = range->second.type;
    symbol.index = function_.slots++;
    level->names.emplace(whole, symbol);
    return symbol;
  }
  const auto variable = names_.variables.find(whole);
  if (variable == names_.variables.end()) return std::nullopt;
  Symbol symbol;
  symbol.kind = Symbol::Kind::kModuleVariable;
  symbol.index = variable->second;
  return symbol;
}

std::optional<uint32_t> FunctionScope::FindFunction(
    std::string_view name) const {
  const auto found = names_.functions.find(std::string(name));
  if (found == names_.functions.end()) return std::nullopt;
  return found->second;
}

uint32_t FunctionScope::ConstantSlot(const Constant& constant) {
  const auto next = static_cast<uint32_t>(function_.constants.size());
  if (constant.base == Constant::Base::kNone) {
    const auto [slot, added] = constant_slots_.emplace(constant.addend, next);
    if (!added) return kConstantSlot + slot->second;
  }
  function_.constants.push_back(constant);
  return kConstantSlot + next;
}

uint32_t FunctionScope::SpecialSlotOf(SpecialRegister special) {
  const auto [slot, added] = special_slots_.emplace(special, function_.slots);
  if (added) function_.specials.push_back({function_.slots++, special});
  return slot->second;
}

uint32_t FunctionScope::ScratchSlot() {
  if (!scratch_.has_value()) scratch_ = function_.slots++;
  return *scratch_;
}

uint64_t FunctionScope::AddToFrame(uint64_t bytes, uint64_t alignment) {
  const uint64_t offset =
      (function_.frame_bytes + alignment - 1) / alignment * alignment;
  function_.frame_bytes = offset + bytes;
  function_.frame_alignment = std::max(function_.frame_alignment, alignment);
  return offset;
}

std::optional<SpecialRegister> FindSpecialRegister(std::string_view name) {
  struct Row {
    std::string_view name;
    SpecialRegister special;
  };
  using enum SpecialRegister;
  static constexpr Row kRows[] = {
      {"%tid.x", kTidX},
      {"%tid.y", kTidY},
      {"%tid.z", kTidZ},
      {"%ntid.x", kNtidX},
      {"%ntid.y", kNtidY},
      {"%ntid.z", kNtidZ},
      {"%ctaid.x", kCtaidX},
      {"%ctaid.y", kCtaidY},
      {"%ctaid.z", kCtaidZ},
      {"%nctaid.x", kNctaidX},
      {"%nctaid.y", kNctaidY},
      {"%nctaid.z", kNctaidZ},
      {"%laneid", kLaneid},
      {"%warpid", kWarpid},
      {"%nwarpid", kNwarpid},
      {"WARP_SZ", kWarpSize},
      {"%lanemask_eq", kLanemaskEq},
      {"%lanemask_le", kLanemaskLe},
      {"%lanemask_lt", kLanemaskLt},
      {"%lanemask_ge", kLanemaskGe},
      {"%lanemask_gt", kLanemaskGt},
      {"%smid", kSmid},
      {"%nsmid", kNsmid},
      {"%gridid", kGridid},
      {"%dynamic_smem_size", kDynamicSmemSize},
      {"%total_smem_size", kTotalSmemSize},
      {"%cluster_ctarank", kClusterCtaRank},
      {"%cluster_nctarank", kClusterNctaRank},
      {"%clock", kClock},
      {"%clock64", kClock64},
      {"%globaltimer", kGlobaltimer},
  };
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows)) return std::nullopt;
  return row->special;
}

bool IsClock(SpecialRegister special) {
  return special == SpecialRegister::kClock ||
         special == SpecialRegister::kClock64 ||
         special == SpecialRegister::kGlobaltimer;
}

}  // namespace encore::ptx
