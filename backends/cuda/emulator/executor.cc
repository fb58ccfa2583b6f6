#include "encore/backends/cuda/emulator/executor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "encore/backends/cuda/emulator/access.h"
#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/backends/cuda/emulator/barrier.h"
#include "encore/backends/cuda/emulator/ops/async.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

// The operand with the lanes that take part; nothing for others.
std::optional<uint32_t> MembersOperand(Op op) {
  switch (op) {
    case Op::kShfl:
      return 5;
    case Op::kVote:
    case Op::kMatchAny:
    case Op::kRedux:
    case Op::kElect:
      return 2;
    case Op::kMatchAll:
      return 3;
    case Op::kBarWarpSync:
      return 0;
    default:
      return std::nullopt;
  }
}

class Executor {
 public:
  explicit Executor(Warp& warp)
      : warp_(warp), launch_(*warp.launch), program_(*warp.program) {}

  void Run(uint64_t steps);

 private:
  bool Select(bool may_draw);
  void Step();
  void Leave() {
    ForEachLane(group_, [&](uint32_t lane) { warp_.pcs[lane] = pc_; });
    group_ = 0;
  }
  uint32_t Guarded(const Instruction& i) const;
  void Control(const Instruction& i, uint32_t mask);
  void Branch(uint32_t mask, uint32_t target);
  void BranchByTable(const Instruction& i, uint32_t mask);
  void Call(const Instruction& i, uint32_t mask);
  void Return(const Instruction& i, uint32_t mask);
  void Exit(uint32_t mask);
  void Copy(uint32_t mask, const std::vector<Program::Copy>& copies);
  void Together(const Instruction& i, uint32_t mask);
  void Aligned(const Instruction& i, uint32_t mask);
  void Members(const Instruction& i, uint32_t mask, uint32_t operand);
  bool MembersAreThere(const Instruction& i, uint32_t members,
                       uint32_t* present);
  void Execute(const Instruction& i, uint32_t mask);
  void Stop(uint32_t mask, Wait wait);
  void Wake(uint32_t mask);

  Warp& warp_;
  LaunchState& launch_;
  const Program& program_;
  uint32_t group_ = 0;  // lanes that run; their program counter is pc_
  uint32_t pc_ = 0;
  uint32_t limit_ = kNoLimit;  // where other lanes wait to run
};

bool Executor::Select(bool may_draw) {
  const uint32_t runnable = warp_.runnable();
  if (runnable == 0) return false;
  pc_ = kNoLimit;
  ForEachLane(runnable,
              [&](uint32_t lane) { pc_ = std::min(pc_, warp_.pcs[lane]); });
  const auto gather = [&] {
    group_ = 0;
    limit_ = kNoLimit;
    ForEachLane(runnable, [&](uint32_t lane) {
      const uint32_t at = warp_.pcs[lane];
      if (at == pc_) group_ |= 1u << lane;
      if (at > pc_) limit_ = std::min(limit_, at);
    });
  };
  gather();
  if (group_ != runnable && may_draw && launch_.random.Below(4) == 0) {
    uint32_t lane;
    do {
      lane = static_cast<uint32_t>(launch_.random.Below(32));
    } while ((runnable >> lane & 1) == 0);
    pc_ = warp_.pcs[lane];
    gather();
  }
  return true;
}

uint32_t Executor::Guarded(const Instruction& i) const {
  if (i.guard == kNoSlot) return group_;
  const uint64_t* guard = warp_.Register(i.guard);
  uint32_t mask = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    mask |= (guard[lane] != 0 ? 1u : 0u) << lane;
  }
  return group_ & (i.guard_negated ? ~mask : mask);
}

void Executor::Run(uint64_t steps) {
  bool may_draw = true;
  while (steps > 0 && !launch_.failed && Select(may_draw)) {
    may_draw = false;
    while (group_ != 0 && steps > 0 && !launch_.failed) {
      --steps;
      Step();
      if (group_ != 0 && pc_ >= limit_) Leave();
    }
  }
  if (group_ != 0) Leave();
}

void Executor::Step() {
  const Instruction& i = program_.code[pc_];
  const uint32_t mask = Guarded(i);
  ++launch_.counters.steps;
  if (mask == 0) {
    ++pc_;
    return;
  }
  const auto index = static_cast<size_t>(i.instruction_class);
  ++launch_.counters.warp_instructions[index];
  launch_.counters.thread_instructions[index] +=
      static_cast<uint64_t>(std::popcount(mask));
  switch (i.instruction_class) {
    case InstructionClass::kControl:
      return Control(i, mask);
    case InstructionClass::kBarrier:
    case InstructionClass::kShuffle:
    case InstructionClass::kMatrix:
      return Together(i, mask);
    default:
      if (warp_.waiting != 0) warp_.astray |= mask;
      i.handler(warp_, i, mask);
      ++pc_;
  }
}

void Executor::Control(const Instruction& i, uint32_t mask) {
  switch (i.op) {
    case Op::kBra:
      return Branch(mask, i.target);
    case Op::kBrx:
      return BranchByTable(i, mask);
    case Op::kCall:
      return Call(i, mask);
    case Op::kRet:
      if (i.target != kNoSlot) return Return(i, mask);
      return Exit(mask);
    case Op::kExit:
      return Exit(mask);
    case Op::kTrap:
    case Op::kBrkpt:
      return warp_.Fail(i, static_cast<uint32_t>(std::countr_zero(mask)),
                        "the kernel gives up");
    default:  // nanosleep and waits for other grids: time does not pass here
      ++pc_;
  }
}

void Executor::Branch(uint32_t mask, uint32_t target) {
  if (mask == group_) {
    pc_ = target;
    return;
  }
  ++launch_.counters.divergent_branches;
  ++pc_;
  const uint32_t group = group_;
  Leave();
  ForEachLane(group & mask, [&](uint32_t lane) { warp_.pcs[lane] = target; });
}

void Executor::BranchByTable(const Instruction& i, uint32_t mask) {
  const std::vector<uint32_t>& table = program_.branch_tables[i.target];
  const uint64_t* number = warp_.Source(i, 0);
  ++pc_;
  Leave();
  ForEachLane(mask, [&](uint32_t lane) {
    const auto entry = static_cast<uint32_t>(number[lane]);
    if (entry < table.size()) {
      warp_.pcs[lane] = table[entry];
    } else {
      warp_.Fail(i, lane,
                 StrCat("entry ", entry, " of a table of ", table.size(),
                        " branches"));
    }
  });
}

void Executor::Copy(uint32_t mask, const std::vector<Program::Copy>& copies) {
  if (copies.empty()) return;
  const uint64_t size = program_.local_bytes;
  if (warp_.local.empty()) warp_.local.resize(size * 32);
  ForEachLane(mask, [&](uint32_t lane) {
    std::byte* local = warp_.local.data() + lane * size - kLocalBegin;
    for (const Program::Copy& copy : copies) {
      std::memmove(local + copy.to, local + copy.from, copy.bytes);
    }
  });
}

void Executor::Call(const Instruction& i, uint32_t mask) {
  const Program::Call& call = program_.calls[i.target];
  Copy(mask, call.arguments);
  uint64_t* back = warp_.Register(call.return_slot);
  ForEachLane(mask, [&](uint32_t lane) { back[lane] = pc_; });
  Branch(mask, call.entry);
}

void Executor::Return(const Instruction& i, uint32_t mask) {
  const uint64_t* back = warp_.Register(i.target);
  ++pc_;
  Leave();
  ForEachLane(mask, [&](uint32_t lane) {
    const auto call = static_cast<uint32_t>(back[lane]);
    Copy(1u << lane, program_.calls[program_.code[call].target].results);
    warp_.pcs[lane] = call + 1;
  });
}

void Executor::Exit(uint32_t mask) {
  Block& block = *warp_.block;
  // A thread that ends early is no longer waited for, but must do nothing else
  // while others wait at an instruction that is for all of them.
  if ((warp_.astray & mask) != 0 && warp_.WaitingForLanes() != 0) {
    return FailStuck(warp_);
  }
  ++pc_;
  Leave();
  warp_.live &= ~mask;
  block.live_threads -= static_cast<uint32_t>(std::popcount(mask));
  ForEachLane(mask, [&](uint32_t lane) { LandAllCopies(warp_, lane); });
  // Those that waited for lanes that are gone look again.
  ForEachLane(warp_.live & warp_.waiting, [&](uint32_t lane) {
    if (warp_.waits[lane] != Wait::kBarrier) Wake(1u << lane);
  });
  if (block.live_threads > 0) OpenBarriers(block);
}

void Executor::Stop(uint32_t mask, Wait wait) {
  warp_.waiting |= mask;
  ForEachLane(mask, [&](uint32_t lane) { warp_.waits[lane] = wait; });
}

void Executor::Wake(uint32_t mask) {
  warp_.waiting &= ~mask;
  warp_.astray = 0;
  ForEachLane(mask, [&](uint32_t lane) { warp_.waits[lane] = Wait::kNone; });
}

void Executor::Together(const Instruction& i, uint32_t mask) {
  if (const auto operand = MembersOperand(i.op)) {
    return Members(i, mask, *operand);
  }
  const bool barrier = IsBlockBarrier(i.op);
  const bool matrix = i.instruction_class == InstructionClass::kMatrix;
  if (matrix || (barrier && IsAligned(i))) return Aligned(i, mask);
  if (!barrier) {
    Execute(i, mask);
    ++pc_;
    return;
  }
  ++pc_;
  Leave();
  ArriveAtBarrier(warp_, i, mask);
}

void Executor::Execute(const Instruction& i, uint32_t mask) {
  if (i.op == Op::kMembar || i.op == Op::kFence) {
    Fence(warp_);
  } else if (i.op != Op::kBarWarpSync) {
    i.handler(warp_, i, mask);
  }
}

// All live lanes of the warp must be here; those that came first wait.
void Executor::Aligned(const Instruction& i, uint32_t mask) {
  uint32_t present = mask;
  ForEachLane(warp_.waiting, [&](uint32_t lane) {
    if (warp_.waits[lane] == Wait::kConverge && warp_.pcs[lane] == pc_) {
      present |= 1u << lane;
    }
  });
  const uint32_t here = pc_;
  if (present != warp_.live) {
    // Lanes that a guard keeps from it go on.
    const uint32_t group = group_;
    Leave();
    ForEachLane(group & ~mask,
                [&](uint32_t lane) { warp_.pcs[lane] = here + 1; });
    Stop(mask, Wait::kConverge);
    return;
  }
  Wake(present);
  group_ = present;
  ++pc_;
  Leave();
  if (IsBlockBarrier(i.op)) {
    ArriveAtBarrier(warp_, i, present);
  } else {
    i.handler(warp_, i, present);
  }
}

// Whether all live lanes of `members` are at `i`, the present ones included; of
// bar.warp.sync, at any one. `present` gets those that waited.
bool Executor::MembersAreThere(const Instruction& i, uint32_t members,
                               uint32_t* present) {
  const uint32_t operand = *MembersOperand(i.op);
  ForEachLane(members & warp_.waiting, [&](uint32_t lane) {
    if (warp_.waits[lane] != Wait::kMembers) return;
    const Instruction& there = program_.code[warp_.pcs[lane]];
    const bool same = &there == &i || (i.op == Op::kBarWarpSync &&
                                       there.op == Op::kBarWarpSync);
    if (same &&
        static_cast<uint32_t>(warp_.Source(there, operand)[lane]) == members) {
      *present |= 1u << lane;
    }
  });
  return (members & warp_.live & ~*present) == 0;
}

void Executor::Members(const Instruction& i, uint32_t mask, uint32_t operand) {
  const uint64_t* masks = warp_.Source(i, operand);
  const uint32_t here = pc_;
  const uint32_t group = group_;
  ++pc_;
  Leave();  // guarded lanes go on; those that stop are set back below
  ForEachLane(mask, [&](uint32_t lane) { warp_.pcs[lane] = here; });
  uint32_t rest = mask;
  while (rest != 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const auto members = static_cast<uint32_t>(masks[lane]);
    uint32_t present = 0;
    ForEachLane(rest, [&](uint32_t l) {
      if (static_cast<uint32_t>(masks[l]) == members) present |= 1u << l;
    });
    rest &= ~present;
    if ((present & ~members) != 0) {
      return warp_.Fail(
          i, static_cast<uint32_t>(std::countr_zero(present & ~members)),
          StrCat("the lane is not in its own member mask ", members));
    }
    if (!MembersAreThere(i, members, &present)) {
      Stop(present, Wait::kMembers);
      continue;
    }
    Wake(present);
    Execute(i, present);
    if (i.op == Op::kBarWarpSync) warp_.clock.BeginEpoch();
    ForEachLane(present, [&](uint32_t l) { ++warp_.pcs[l]; });
  }
  // The usual case goes on without choosing anew.
  if (mask == group && warp_.runnable() == group && limit_ == kNoLimit) {
    group_ = group;
    pc_ = here + 1;
  }
}

std::string LinesOf(const Warp& warp, uint32_t mask) {
  std::string out;
  ForEachLane(mask, [&](uint32_t lane) {
    if (!out.empty()) return;
    StrAppend(&out, "lane ", lane, " is at line ",
              warp.program->code[warp.pcs[lane]].line);
  });
  return out;
}

}  // namespace

void Run(Warp& warp, uint64_t steps) { Executor(warp).Run(steps); }

void FailStuck(Warp& warp) {
  const uint32_t early = warp.WaitingForLanes();
  if (early == 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(warp.live));
    // A lane that waits at a barrier has it behind itself.
    const Instruction& i = warp.program->code[warp.pcs[lane] - 1];
    return warp.Fail(i, lane,
                     "waits forever at a barrier that too few threads reach");
  }
  const auto lane = static_cast<uint32_t>(std::countr_zero(early));
  const Instruction& i = warp.program->code[warp.pcs[lane]];
  uint32_t here = 0;
  ForEachLane(early, [&](uint32_t l) {
    if (warp.pcs[l] == warp.pcs[lane]) here |= 1u << l;
  });
  if (warp.waits[lane] == Wait::kConverge) {
    return warp.Fail(
        i, lane,
        StrCat("divergent: all ", std::popcount(warp.live),
               " live lanes of the warp must execute it together, ",
               std::popcount(here), " do; ", LinesOf(warp, warp.live & ~here)));
  }
  const auto members =
      static_cast<uint32_t>(warp.Source(i, *MembersOperand(i.op))[lane]);
  const uint32_t missing = members & warp.live & ~here;
  warp.Fail(i, lane,
            StrCat("its member mask names lanes that do not come: ",
                   LinesOf(warp, missing)));
}

}  // namespace encore::ptx
