#include "encore/runtime/plan/compiled_graph_text.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::runtime {
namespace {

constexpr std::string_view kRoles[] = {"input",   "output",   "parameter",
                                       "derived", "constant", "temporary"};

std::string Name(SlotId slot) { return StrCat("%", slot.value()); }

std::string List(std::span<const SlotId> slots) {
  return StrCat(
      "(",
      StrJoin(slots, ", ",
              [](std::string* out, SlotId slot) { out->append(Name(slot)); }),
      ")");
}

// A word of the file's as it is, or quoted where it could be taken for another
// thing. Of hostile files words are any bytes.
std::string Word(std::string_view text) {
  const auto plain = [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != ',';
  };
  return !text.empty() && std::ranges::all_of(text, plain) ? std::string(text)
                                                           : Quote(text);
}

std::string ProgramName(const KernelBinary& program) {
  return StrCat(Word(program.backend), ":", Word(program.entry));
}

struct StepPrinter {
  std::string operator()(const Allocate& op) const {
    return StrCat("allocate ", Name(op.slot), " at pool ", op.pool.value(),
                  ", ", op.bytes, " bytes");
  }
  std::string operator()(const Copy& op) const {
    return StrCat("copy ", Name(op.src), " -> ", Name(op.dst));
  }
  std::string operator()(const Deallocate& op) const {
    return StrCat("deallocate ", Name(op.slot), " at pool ", op.pool.value());
  }
  std::string operator()(const Launch& op) const {
    const KernelBinary& program = graph.program(op.program);
    std::string out =
        StrCat("launch ", ProgramName(program), " #", op.program.value(), " ",
               List(op.reads), " -> ", List(op.writes));
    if (!op.args.empty())
      StrAppend(&out, " args [", StrJoin(op.args, ", "), "]");
    for (const Launch::InPlace& pair : op.in_place) {
      StrAppend(&out, " in place ", pair.read, "->", pair.write);
    }
    return out;
  }
  std::string operator()(const Invoke& op) const {
    constexpr std::string_view kKinds[] = {"if", "while", "scan"};
    std::string out = StrCat(kKinds[static_cast<size_t>(op.kind)], " plans [",
                             StrJoin(op.plans, ", ",
                                     [](std::string* text, PlanId plan) {
                                       StrAppend(text, plan.value());
                                     }),
                             "]");
    if (op.selector.valid()) StrAppend(&out, " by ", Name(op.selector));
    if (op.kind == InvokeKind::kScan) StrAppend(&out, " times ", op.trips);
    for (const Invoke::Carried& pair : op.carried) {
      StrAppend(&out, " carry ", Name(pair.next), "->", Name(pair.state));
    }
    for (const Invoke::StackedOperand& pair : op.scanned) {
      StrAppend(&out, " scan ", Name(pair.stacked), " by ", Name(pair.slice),
                pair.reversed ? " reversed" : "");
    }
    StrAppend(&out, " ", List(op.reads), " -> ", List(op.writes));
    return out;
  }

  const CompiledGraph& graph;
};

std::string SlotText(const CompiledGraph& graph, uint32_t number) {
  const Slot& slot = graph.slots[number];
  std::string out =
      StrCat("  %", number, " ",
             slot.is_arena ? std::string_view("arena")
                           : kRoles[static_cast<size_t>(slot.role)]);
  if (!slot.is_arena) StrAppend(&out, " ", slot.type);
  StrAppend(&out, " at pool ", slot.pool.value(), ", ", slot.bytes, " bytes");
  if (slot.base.valid()) {
    StrAppend(&out, graph.slot(slot.base).is_arena ? ", in " : ", view of ",
              Name(slot.base), " + ", slot.offset);
  }
  if (slot.role == SlotRole::kConstant) {
    StrAppend(&out, ", blob ", slot.blob.value(), " + ", slot.blob_offset);
  }
  return out;
}

std::string ProgramText(const CompiledGraph& graph, uint32_t number) {
  const KernelBinary& program = graph.programs[number];
  std::string out =
      StrCat("  #", number, " ", ProgramName(program), ", ", program.reads,
             " reads, ", program.writes, " writes");
  if (program.artifact.valid()) {
    StrAppend(&out, ", blob ", program.artifact.value());
  }
  if (!program.requirements.empty()) {
    StrAppend(&out, ", requires ",
              StrJoin(program.requirements, " ",
                      [](std::string* text, const std::string& requirement) {
                        text->append(Word(requirement));
                      }));
  }
  return out;
}

}  // namespace

std::string StepText(const CompiledGraph& graph, const Step& step,
                     const OriginName& origin_name) {
  std::string out = std::visit(StepPrinter{graph}, step.op);
  for (const uint32_t origin : step.origins) {
    const std::string name = origin_name ? origin_name(origin) : "";
    StrAppend(&out, " @", name.empty() ? StrCat("#", origin) : Quote(name));
  }
  return out;
}

std::string CompiledGraphText(const CompiledGraph& graph,
                              const OriginName& origin_name) {
  std::string out;
  for (size_t d = 0; d < graph.devices.size(); ++d) {
    const DeviceInfo& device = graph.devices[d];
    StrAppend(&out, "device ", d, " ", Word(device.backend), ":",
              device.ordinal, " pool ", device.pool.value(), "\n");
  }
  for (size_t s = 0; s < graph.symbols.size(); ++s) {
    const SymbolInfo& symbol = graph.symbols[s];
    const bool of_input = symbol.source == SymbolInfo::Source::kInputDim;
    StrAppend(&out, "symbol ", s, " in [", symbol.lower, ", ", symbol.upper,
              "] from ", of_input ? "dim " : "element ", symbol.element, " of ",
              of_input ? "input " : "%", symbol.index, "\n");
  }
  for (size_t b = 0; b < graph.blobs.size(); ++b) {
    StrAppend(&out, "blob ", b, " ", graph.blobs[b].bytes.size(), " bytes",
              graph.blobs[b].executable ? ", executable" : "", "\n");
  }
  StrAppend(&out, "slots ", graph.slots.size(), "\n");
  for (uint32_t s = 0; s < graph.slots.size(); ++s) {
    StrAppend(&out, SlotText(graph, s), "\n");
  }
  StrAppend(&out, "programs ", graph.programs.size(), "\n");
  for (uint32_t p = 0; p < graph.programs.size(); ++p) {
    StrAppend(&out, ProgramText(graph, p), "\n");
  }
  for (uint32_t p = 0; p < graph.plans.size(); ++p) {
    const bool run = graph.run == PlanId(p);
    const bool prepare = graph.prepare == PlanId(p);
    StrAppend(&out, "plan ", p,
              run       ? " (run)"
              : prepare ? " (prepare)"
                        : "",
              "\n");
    const std::vector<Step>& steps = graph.plans[p].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      StrAppend(&out, "  ", s, "  ", StepText(graph, steps[s], origin_name),
                "\n");
    }
  }
  return out;
}

}  // namespace encore::runtime
