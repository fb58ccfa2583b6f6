#include "encore/runtime/plan/hazards.h"

#include <algorithm>
#include <utility>

#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

// Bytes of a storage, and the last step that wrote or read just these.
struct Record {
  int64_t begin, end;
  uint32_t step;
  bool is_write;
};

struct Place {
  SlotId storage;
  int64_t begin = 0, end = 0;
};

int64_t AddSaturated(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

Place PlaceOf(const CompiledGraph& graph, std::span<const Symbol> symbols,
              SlotId slot) {
  Place place;
  place.end = graph.slot(slot).bytes.UpperBound(symbols);
  if (graph.slot(slot).is_host_object()) place.end = 1;
  SlotId at = slot;
  for (; graph.slot(at).base.valid(); at = graph.slot(at).base) {
    const Dim& offset = graph.slot(at).offset;
    place.begin = AddSaturated(place.begin, offset.LowerBound(symbols));
    place.end = AddSaturated(place.end, offset.UpperBound(symbols));
  }
  place.storage = at;
  return place;
}

struct Collector {
  const CompiledGraph& graph;
  StepAccess access;

  void ReadSymbols(const Dim& dim) {
    ForEachSymbol(dim, [&](uint32_t symbol) {
      const SymbolInfo& info = graph.symbols[symbol];
      if (info.source == SymbolInfo::Source::kSlot) {
        access.reads.push_back(SlotId(info.index));
      }
    });
  }
  void operator()(const Allocate& op) {
    ReadSymbols(op.bytes);
    access.writes.push_back(op.slot);
  }
  void operator()(const Copy& op) {
    access.reads.push_back(op.src);
    access.writes.push_back(op.dst);
  }
  void operator()(const Launch& op) {
    access.reads = op.reads;
    access.writes = op.writes;
    for (const Dim& arg : op.args) ReadSymbols(arg);
  }
  void operator()(const Deallocate& op) { access.writes.push_back(op.slot); }
  void operator()(const Invoke& op) {
    access.reads = op.reads;
    access.writes = op.writes;
    // A While's selector is its condition's own where nothing else uses it.
    if (op.selector.valid()) access.reads.push_back(op.selector);
    ReadSymbols(op.trips);
  }
};

}  // namespace

StepAccess AccessOf(const CompiledGraph& graph, const Step& step) {
  Collector collector{graph, {}};
  std::visit(collector, step.op);
  return std::move(collector.access);
}

std::vector<std::vector<uint32_t>> StepDependencies(const CompiledGraph& graph,
                                                    PlanId plan) {
  const std::vector<Step>& steps = graph.plan(plan).steps;
  const std::vector<Symbol> symbols = DimSymbols(graph);
  std::vector<std::vector<Record>> records(graph.slots.size());
  std::vector<std::vector<uint32_t>> dependencies(steps.size());
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const auto touch = [&](SlotId slot, bool is_write) {
      const Place place = PlaceOf(graph, symbols, slot);
      std::vector<Record>& list = records[place.storage.value()];
      std::erase_if(list, [&](const Record& record) {
        if (record.step == i || record.begin >= place.end ||
            place.begin >= record.end || !(is_write || record.is_write)) {
          return false;
        }
        dependencies[i].push_back(record.step);
        // Later steps reach what this write covers through this step.
        return is_write && place.begin <= record.begin &&
               record.end <= place.end;
      });
      list.push_back({place.begin, place.end, i, is_write});
    };
    const StepAccess access = AccessOf(graph, steps[i]);
    for (const SlotId slot : access.reads) touch(slot, false);
    for (const SlotId slot : access.writes) touch(slot, true);
    std::ranges::sort(dependencies[i]);
    const auto rest = std::ranges::unique(dependencies[i]);
    dependencies[i].erase(rest.begin(), rest.end());
  }
  return dependencies;
}

}  // namespace encore::runtime
