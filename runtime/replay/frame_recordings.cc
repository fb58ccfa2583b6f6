#include "encore/runtime/replay/frame_recordings.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

bool IsWork(Code code) { return code != Code::kRecord && code != Code::kWait; }

}  // namespace

StatusOr<bool> FrameRecordings::Run(uint32_t number, const Values& values) {
  const Stretch& stretch = code_.stretches[number];
  State& state = stretches_[number];
  const bool tried = state.seen && !state.gave_up;
  state.seen = true;
  if (tried) {
    const Status status = RunRecorded(number, values);
    if (!status.ok()) ENCORE_RETURN_IF_ERROR(GiveUp(number, status));
  }
  if (!tried || state.gave_up) {
    ENCORE_RETURN_IF_ERROR(StartEager(number));
    return false;
  }
  ++counts_.runs;
  state.was_eager = false;
  state.was_recorded = true;
  for (const uint32_t event : stretch.behind) {
    ENCORE_RETURN_IF_ERROR(queues_.Record(stretch.origin, event));
  }
  for (const uint16_t other : stretch.joined) {
    ENCORE_RETURN_IF_ERROR(Join(stretch.origin, other));
  }
  return true;
}

Status FrameRecordings::GiveUp(uint32_t number, const Status& status) {
  if (status.code() != StatusCode::kResourceExhausted &&
      status.code() != StatusCode::kUnimplemented) {
    return status;
  }
  // What is in flight may be one of them.
  ENCORE_RETURN_IF_ERROR(queues_.Synchronize());
  State& state = stretches_[number];
  for (const Recorded& one : state.recorded) {
    counts_.kept -= one.recording != nullptr;
  }
  state.recorded.clear();
  last_direct_ = nullptr;
  state.gave_up = true;
  // Events may have been recorded that stand for no place in a queue.
  state.was_recorded = true;
  return OkStatus();
}

Status FrameRecordings::RunRecorded(uint32_t number, const Values& values) {
  const Stretch& stretch = code_.stretches[number];
  State& state = stretches_[number];
  ENCORE_ASSIGN_OR_RETURN(Recorded* const recorded, Choose(number, values));
  Queue& origin = queue(stretch.origin);
  origin.set_tag(code_.ops[stretch.begin].step);
  for (const uint32_t event : stretch.before) {
    ENCORE_RETURN_IF_ERROR(queues_.Wait(stretch.origin, event));
  }
  for (const uint16_t other :
       state.was_eager ? stretch.others : stretch.joined) {
    ENCORE_RETURN_IF_ERROR(Join(other, stretch.origin));
  }
  return recorded->recording->Run(origin);
}

StatusOr<bool> FrameRecordings::RunIn(Queue& caller, const Values& values) {
  if (code_.stretches.size() != 1 || !code_.stretches[0].whole) return false;
  State& state = stretches_[0];
  if (!state.seen || state.gave_up) return false;
  const auto run = [&]() -> Status {
    ENCORE_ASSIGN_OR_RETURN(Recorded* const recorded, Choose(0, values));
    ENCORE_RETURN_IF_ERROR(queues_.BeginDirectly(
        code_.stretches[0].device, caller, recorded != last_direct_));
    last_direct_ = recorded;
    return recorded->recording->Run(caller);
  };
  if (const Status status = run(); !status.ok()) {
    ENCORE_RETURN_IF_ERROR(GiveUp(0, status));
    return false;
  }
  ++counts_.runs;
  ENCORE_RETURN_IF_ERROR(queues_.EndDirectly(caller));
  return true;
}

Status FrameRecordings::StartEager(uint32_t number) {
  State& state = stretches_[number];
  const Stretch& stretch = code_.stretches[number];
  state.was_eager = true;
  if (!state.was_recorded) return OkStatus();
  state.was_recorded = false;
  // Where they were last recorded is no place in a queue.
  for (const uint32_t event : stretch.recorded) {
    ENCORE_RETURN_IF_ERROR(queues_.Record(stretch.origin, event));
  }
  for (const uint16_t other : stretch.others) {
    ENCORE_RETURN_IF_ERROR(Join(stretch.origin, other));
  }
  return OkStatus();
}

Status FrameRecordings::Join(uint16_t from, uint16_t to) {
  joins_.resize(code_.queues.size());
  std::unique_ptr<Event>& event = joins_[from];
  if (event == nullptr) {
    Device& device = *devices_[code_.queues[from].value()];
    ENCORE_ASSIGN_OR_RETURN(event, device.NewEvent());
  }
  ENCORE_RETURN_IF_ERROR(queue(from).Record(*event));
  return queue(to).Wait(*event);
}

StatusOr<FrameRecordings::Recorded*> FrameRecordings::Choose(
    uint32_t number, const Values& values) {
  const Stretch& stretch = code_.stretches[number];
  State& state = stretches_[number];
  if (!state.recorded.empty()) {
    Recorded& current = state.recorded[state.current];
    if (current.recording != nullptr && current.version == values.version) {
      return &current;
    }
  }
  Recorded& recorded = Find(state, values);
  recorded.last_run = static_cast<uint64_t>(counts_.runs + 1);
  bool fits = false;
  if (recorded.recording != nullptr) {
    ENCORE_ASSIGN_OR_RETURN(fits, Change(stretch, values, &recorded));
  }
  if (!fits) ENCORE_RETURN_IF_ERROR(Record(stretch, values, &recorded));
  recorded.version = values.version;
  recorded.symbols.assign(values.symbols.begin(), values.symbols.end());
  return &recorded;
}

FrameRecordings::Recorded& FrameRecordings::Find(State& state,
                                                 const Values& values) {
  std::vector<Recorded>& all = state.recorded;
  auto found = std::ranges::find_if(all, [&](const Recorded& one) {
    return std::ranges::equal(one.symbols, values.symbols);
  });
  if (found == all.end() && all.size() < kMost) {
    all.reserve(kMost);
    all.emplace_back();
    found = all.end() - 1;
  }
  if (found == all.end()) {
    found = std::ranges::min_element(all, {}, &Recorded::last_run);
  }
  state.current = static_cast<size_t>(found - all.begin());
  return *found;
}

StatusOr<void*> FrameRecordings::StagingOf(const ReplayOp& op,
                                           const Values& values) {
  if (op.staging == 0) return nullptr;
  return queues_.Staging(op.staging - 1, values.sizes[op.a]);
}

bool FrameRecordings::HasChanged(const Stretch::Work& work,
                                 const Values& values,
                                 const Recorded& recorded) const {
  const ReplayOp& op = code_.ops[work.op];
  for (uint32_t i = op.a; i < op.a + work.entries; ++i) {
    if (values.table[i] != recorded.table[i] ||
        values.sizes[i] != recorded.sizes[i]) {
      return true;
    }
  }
  for (uint32_t i = op.b; i < op.b + work.args; ++i) {
    if (values.args[i] != recorded.args[i]) return true;
  }
  return false;
}

StatusOr<bool> FrameRecordings::Change(const Stretch& stretch,
                                       const Values& values,
                                       Recorded* recorded) {
  for (uint32_t i = 0; i < stretch.works.size(); ++i) {
    const Stretch::Work& work = stretch.works[i];
    const ReplayOp& op = code_.ops[work.op];
    ENCORE_ASSIGN_OR_RETURN(void* const staging, StagingOf(op, values));
    if (staging == recorded->staging[i] &&
        !HasChanged(work, values, *recorded)) {
      continue;
    }
    const Status status = submit_(op, recorded->recording->Replace(i));
    if (status.code() == StatusCode::kUnimplemented) return false;
    ENCORE_RETURN_IF_ERROR(status);
    recorded->staging[i] = staging;
    ++counts_.changed;
  }
  std::ranges::copy(values.table, recorded->table.begin());
  std::ranges::copy(values.sizes, recorded->sizes.begin());
  std::ranges::copy(values.args, recorded->args.begin());
  return true;
}

Status FrameRecordings::Record(const Stretch& stretch, const Values& values,
                               Recorded* recorded) {
  recorded->staging.clear();
  for (const Stretch::Work& work : stretch.works) {
    // Not to be made while work is recorded.
    ENCORE_ASSIGN_OR_RETURN(void* const staging,
                            StagingOf(code_.ops[work.op], values));
    recorded->staging.push_back(staging);
  }
  for (const uint16_t other : stretch.others) {
    // The events of joining.
    ENCORE_RETURN_IF_ERROR(Join(other, stretch.origin));
  }
  Device& device = *devices_[stretch.device.value()];
  Queue& origin = queue(stretch.origin);
  std::unique_ptr<Recording> replaced = std::move(recorded->recording);
  if (replaced != nullptr) --counts_.kept;
  ENCORE_RETURN_IF_ERROR(device.BeginRecording(origin));
  const Status status = RecordAll(stretch);
  auto made = device.EndRecording(origin, std::move(replaced));
  ENCORE_RETURN_IF_ERROR(status);
  ENCORE_RETURN_IF_ERROR(made.status());
  recorded->recording = *std::move(made);
  recorded->table.assign(values.table.begin(), values.table.end());
  recorded->sizes.assign(values.sizes.begin(), values.sizes.end());
  recorded->args.assign(values.args.begin(), values.args.end());
  ++counts_.recorded;
  ++counts_.kept;
  return OkStatus();
}

Status FrameRecordings::RecordAll(const Stretch& stretch) {
  for (const uint16_t other : stretch.others) {
    ENCORE_RETURN_IF_ERROR(Join(stretch.origin, other));
  }
  std::vector<bool> recorded(code_.events.size());
  for (uint32_t i = stretch.begin; i < stretch.end; ++i) {
    const ReplayOp& op = code_.ops[i];
    if (IsWork(op.code)) {
      ENCORE_RETURN_IF_ERROR(submit_(op, queue(op.queue)));
    } else if (op.code == Code::kRecord) {
      ENCORE_RETURN_IF_ERROR(queues_.Record(op.queue, op.a));
      recorded[op.a] = true;
    } else if (recorded[op.a]) {
      // Others are waited for before the recording runs, or are of an earlier
      // run of it.
      ENCORE_RETURN_IF_ERROR(queues_.Wait(op.queue, op.a));
    }
  }
  for (const uint16_t other : stretch.others) {
    ENCORE_RETURN_IF_ERROR(Join(other, stretch.origin));
  }
  return OkStatus();
}

RecordingCounts FrameRecordings::counts() const { return counts_; }

}  // namespace encore::runtime
