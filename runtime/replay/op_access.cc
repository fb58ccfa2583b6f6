#include "encore/runtime/replay/op_access.h"

#include <variant>

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

class Collector {
 public:
  Collector(const CompiledGraph& graph, const ReplayCode& code,
            const Places& places, uint32_t number)
      : graph_(graph),
        code_(code),
        places_(places),
        op_(code.ops[number]),
        number_(number) {}

  std::vector<Access> Run() {
    switch (op_.code) {
      case Code::kLaunch:
        Launched(op_);
        break;
      case Code::kDecide:
        Decided(op_);
        break;
      case Code::kCopyHost:
      case Code::kCopyIn:
      case Code::kCopyOut:
      case Code::kCopyWithin:
      case Code::kCopyPeer:
      case Code::kCopyObject:
      case Code::kMoveObject:
        Add(Side(op_.code == Code::kCopyIn, op_.a + 1),
            op_.code == Code::kMoveObject);
        Add(Side(op_.code == Code::kCopyOut, op_.a), true);
        break;
      case Code::kAllocate:
      case Code::kDeallocate:
        Add(places_[SlotId(op_.a)], true);
        break;
      case Code::kReadSymbol:
        Add(Side(true, op_.b), false);
        break;
      case Code::kSelect:
      case Code::kJumpIfFalse:
        Add(Side(true, op_.a), false);
        break;
      case Code::kEnd:
      case Code::kJump:
      case Code::kLoopStart:
      case Code::kLoopTest:
      case Code::kLoopNext:
      case Code::kRecord:
      case Code::kWait:
      case Code::kHostWait:
      case Code::kStretch:
        break;
    }
    return std::move(accesses_);
  }

 private:
  void Add(const Place& place, bool is_write) {
    accesses_.push_back({place, number_, is_write});
  }

  // The memory of an entry, or the buffer that stands for it.
  Place Side(bool may_be_staged, uint32_t entry) const {
    if (may_be_staged && op_.staging != 0) {
      const auto slots = static_cast<uint32_t>(graph_.slots.size());
      return {slots + op_.staging - 1, 0, 1};
    }
    return places_[code_.entries[entry]];
  }

  // Whatever a body may touch. As deep as plans are, which are checked.
  void Decided(const ReplayOp& op) {
    const ReplayCode::Decision& decision = code_.decisions[op.c];
    Add(places_[code_.entries[decision.selector]], false);
    const auto slots = static_cast<uint32_t>(graph_.slots.size());
    Add({slots + decision.staging - 1, 0, 1}, true);
    for (const std::vector<ReplayOp>& body : decision.bodies) {
      for (const ReplayOp& inner : body) {
        if (inner.code == Code::kDecide) {
          Decided(inner);
        } else if (inner.code == Code::kLaunch) {
          Launched(inner);
        } else {
          Add(places_[code_.entries[inner.a + 1]], false);
          Add(places_[code_.entries[inner.a]], true);
        }
      }
    }
  }

  void Launched(const ReplayOp& op) {
    const ReplayCode::StepRef& at = code_.steps[op.step];
    const Step& step = graph_.plan(at.plan).steps[at.step];
    const Launch& launch = std::get<Launch>(step.op);
    for (const SlotId slot : launch.reads) Add(places_[slot], false);
    for (const SlotId slot : launch.writes) Add(places_[slot], true);
  }

  const CompiledGraph& graph_;
  const ReplayCode& code_;
  const Places& places_;
  const ReplayOp& op_;
  const uint32_t number_;
  std::vector<Access> accesses_;
};

}  // namespace

std::vector<Access> AccessesOf(const CompiledGraph& graph,
                               const ReplayCode& code, const Places& places,
                               uint32_t number) {
  return Collector(graph, code, places, number).Run();
}

}  // namespace encore::runtime
