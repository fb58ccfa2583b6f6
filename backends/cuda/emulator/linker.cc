#include "encore/backends/cuda/emulator/linker.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Where a function's parts are in the program.
struct Place {
  uint32_t code = 0;
  uint32_t slots = 0;
  uint32_t constants = 0;
  uint32_t operands = 0;
  uint32_t tables = 0;
  uint32_t calls = 0;
  uint32_t return_slot = kNoSlot;
  uint64_t frame = 0;
};

class Linker {
 public:
  Linker(const Module& module, std::span<const uint64_t> addresses)
      : module_(module), addresses_(addresses.begin(), addresses.end()) {
    for (uint32_t i = 0; i < module.functions.size(); ++i) {
      by_name_.emplace(module.functions[i].name, i);
    }
  }

  StatusOr<Program> Link(uint32_t kernel);

 private:
  Status Order(uint32_t kernel);
  void PlaceFunctions();
  void PlaceShared();
  void Constants(const Function& function, const Place& place);
  void Code(const Function& function, const Place& place);
  Status Calls(const Function& function, const Place& place);
  Status Enter(uint32_t function);

  const Module& module_;
  std::vector<uint64_t> addresses_;
  std::unordered_map<std::string, uint32_t> by_name_;
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks_;
  std::vector<std::pair<uint32_t, size_t>> path_;  // function, next call
  std::vector<uint32_t> order_;                    // the kernel first
  std::unordered_map<uint32_t, Place> places_;
  Program out_;
};

Status Linker::Enter(uint32_t function) {
  const Function& entered = module_.functions[function];
  if (!entered.defined) {
    return FailedPreconditionError(StrCat(
        "function ", entered.name,
        " has no body in this module; it belongs to a library of the device"));
  }
  marks_[function] = Mark::kOpen;
  order_.push_back(function);
  path_.emplace_back(function, 0);
  return OkStatus();
}

// What is called, depth first; a call back into an open function is recursion.
Status Linker::Order(uint32_t kernel) {
  marks_.assign(module_.functions.size(), Mark::kNew);
  ENCORE_RETURN_IF_ERROR(Enter(kernel));
  while (!path_.empty()) {
    auto& [function, next] = path_.back();
    const Function& caller = module_.functions[function];
    if (next == caller.calls.size()) {
      marks_[function] = Mark::kDone;
      path_.pop_back();
      continue;
    }
    const CallSite& site = caller.calls[next++];
    const uint32_t callee = by_name_.at(site.callee);
    if (marks_[callee] == Mark::kOpen) {
      return FailedPreconditionError(
          StrCat("PTX line ", site.line, ": function ", site.callee,
                 " calls itself, which the emulator does not execute"));
    }
    if (marks_[callee] == Mark::kNew) ENCORE_RETURN_IF_ERROR(Enter(callee));
  }
  return OkStatus();
}

void Linker::PlaceFunctions() {
  uint64_t frame = kLocalBegin;
  Place next;
  for (const uint32_t index : order_) {
    const Function& function = module_.functions[index];
    Place place = next;
    place.frame = AlignUp(frame, function.frame_alignment);
    frame = place.frame + function.frame_bytes;
    next.code += static_cast<uint32_t>(function.code.size());
    next.slots += function.slots;
    if (index != order_.front()) place.return_slot = next.slots++;
    next.constants += static_cast<uint32_t>(function.constants.size());
    next.operands += static_cast<uint32_t>(function.operands.size());
    next.tables += static_cast<uint32_t>(function.branch_tables.size());
    next.calls += static_cast<uint32_t>(function.calls.size());
    places_.emplace(index, place);
  }
  out_.slots = next.slots;
  out_.local_bytes = frame - kLocalBegin;
}

// The shared variables that the functions name, in the module's order, then the
// dynamic ones, which share their begin.
void Linker::PlaceShared() {
  std::vector<bool> used(module_.variables.size());
  for (const uint32_t index : order_) {
    for (const Constant& constant : module_.functions[index].constants) {
      if (constant.base == Constant::Base::kModule) {
        used[constant.variable] = true;
      }
    }
  }
  uint64_t end = kSharedBegin;
  uint64_t dynamic_alignment = 16;
  for (size_t i = 0; i < used.size(); ++i) {
    const Variable& variable = module_.variables[i];
    if (!used[i] || variable.space != Space::kShared) continue;
    if (variable.external) {
      dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
      continue;
    }
    addresses_[i] = AlignUp(end, variable.alignment);
    end = addresses_[i] + variable.bytes;
  }
  end = AlignUp(end, dynamic_alignment);
  for (size_t i = 0; i < used.size(); ++i) {
    const Variable& variable = module_.variables[i];
    if (variable.space == Space::kShared && variable.external) {
      addresses_[i] = end;
    }
  }
  out_.shared_bytes = end - kSharedBegin;
}

void Linker::Constants(const Function& function, const Place& place) {
  for (const Constant& constant : function.constants) {
    uint64_t value = constant.addend;
    Space space = Space::kGlobal;
    if (constant.base == Constant::Base::kModule) {
      value += addresses_[constant.variable];
      space = module_.variables[constant.variable].space;
    } else if (constant.base == Constant::Base::kFrame) {
      value += place.frame;
      space = Space::kLocal;
    }
    if (constant.generic) value += WindowOf(space);
    out_.constants.emplace_back().fill(value);
  }
}

void Linker::Code(const Function& function, const Place& place) {
  for (Instruction i : function.code) {
    i.first_operand += place.operands;
    if (i.guard != kNoSlot) i.guard += place.slots;
    switch (i.op) {
      case Op::kBra:
        i.target += place.code;
        break;
      case Op::kBrx:
        i.target += place.tables;
        break;
      case Op::kCall:
        i.target += place.calls;
        break;
      case Op::kRet:
        i.target = place.return_slot;
        break;
      default:
        break;
    }
    out_.code.push_back(i);
  }
  for (const uint32_t slot : function.operands) {
    const uint32_t base = slot >= kConstantSlot ? place.constants : place.slots;
    out_.operands.push_back(slot == kNoSlot ? slot : slot + base);
  }
  for (std::vector<uint32_t> table : function.branch_tables) {
    for (uint32_t& target : table) target += place.code;
    out_.branch_tables.push_back(std::move(table));
  }
  for (SpecialSlot special : function.specials) {
    special.slot += place.slots;
    out_.specials.push_back(special);
  }
}

Status Linker::Calls(const Function& function, const Place& place) {
  for (const CallSite& site : function.calls) {
    const uint32_t index = by_name_.at(site.callee);
    const Function& callee = module_.functions[index];
    const Place& there = places_.at(index);
    for (size_t n = 0; n < site.arguments.size(); ++n) {
      if (callee.parameters[n].bytes == site.arguments[n].bytes) continue;
      return FailedPreconditionError(
          StrCat("PTX line ", site.line, ": argument ", n, " of ", site.callee,
                 " has ", site.arguments[n].bytes, " bytes, expected ",
                 callee.parameters[n].bytes));
    }
    for (size_t n = 0; n < site.results.size(); ++n) {
      if (callee.results[n].bytes == site.results[n].bytes) continue;
      return FailedPreconditionError(
          StrCat("PTX line ", site.line, ": result ", n, " of ", site.callee,
                 " goes to ", site.results[n].bytes, " bytes, expected ",
                 callee.results[n].bytes));
    }
    Program::Call call;
    call.entry = there.code;
    call.return_slot = there.return_slot;
    for (size_t n = 0; n < site.arguments.size(); ++n) {
      call.arguments.push_back({place.frame + site.arguments[n].offset,
                                there.frame + callee.parameters[n].offset,
                                callee.parameters[n].bytes});
    }
    for (size_t n = 0; n < site.results.size(); ++n) {
      call.results.push_back({there.frame + callee.results[n].offset,
                              place.frame + site.results[n].offset,
                              callee.results[n].bytes});
    }
    out_.calls.push_back(std::move(call));
  }
  return OkStatus();
}

StatusOr<Program> Linker::Link(uint32_t kernel) {
  const Function& entry = module_.functions[kernel];
  ENCORE_RETURN_IF_ERROR(Order(kernel));
  out_.name = entry.name;
  out_.parameters = entry.parameters;
  out_.parameter_bytes = entry.parameter_bytes;
  out_.required_threads = entry.required_threads;
  out_.most_threads = entry.most_threads;
  PlaceFunctions();
  PlaceShared();
  for (const uint32_t index : order_) {
    const Function& function = module_.functions[index];
    const Place& place = places_.at(index);
    Constants(function, place);
    Code(function, place);
    ENCORE_RETURN_IF_ERROR(Calls(function, place));
  }
  if (out_.local_bytes + kLocalBegin > kWindowBytes ||
      out_.shared_bytes + kSharedBegin > kWindowBytes) {
    return FailedPreconditionError(StrCat(
        "kernel ", out_.name, " has over 16 MiB of local or shared memory"));
  }
  return std::move(out_);
}

}  // namespace

StatusOr<Program> LinkKernel(const Module& module, uint32_t kernel,
                             std::span<const uint64_t> addresses) {
  return Linker(module, addresses).Link(kernel);
}

}  // namespace encore::ptx
