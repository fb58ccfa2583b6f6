// FrameRecordings: a frame's stretches (stretch_planner.h) as recordings of
// their devices, each recorded when it comes for the second time.
//
// A stretch has a recording for each of the last few sets of symbols' values.
// Where addresses, sizes or args have changed, those of its launches and copies
// that use them are changed, and no others; where the device cannot, the
// stretch is recorded anew. What is as it was costs one call of the device.
//
// A stretch that there is no memory to record, or to run as it is recorded, or
// that the device cannot record, is done one by one from then on; its
// recordings are given back.
//
// Belongs to one thread at a time.
#ifndef ENCORE_RUNTIME_REPLAY_FRAME_RECORDINGS_H_
#define ENCORE_RUNTIME_REPLAY_FRAME_RECORDINGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/replay/frame_queues.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

// How often what was done.
struct RecordingCounts {
  int64_t recorded = 0;  // stretches, first or anew
  int64_t changed = 0;   // launches and copies
  int64_t runs = 0;
  int64_t kept = 0;  // recordings that there are
};

class FrameRecordings {
 public:
  // Recordings that are kept of one stretch.
  static constexpr size_t kMost = 4;

  // What the operations of the frame are done with now.
  struct Values {
    std::span<void* const> table;
    std::span<const int64_t> sizes, args, symbols;
    uint64_t version = 0;  // another one wherever any of these has changed
  };
  // Does a launch or a copy in a queue.
  using Submit = std::function<Status(const ReplayOp&, Queue&)>;

  // All arguments outlive this.
  FrameRecordings(const ReplayCode& code,
                  std::span<const std::shared_ptr<Device>> devices,
                  FrameQueues* queues, Submit submit)
      : code_(code),
        devices_(devices),
        queues_(*queues),
        submit_(std::move(submit)),
        stretches_(code.stretches.size()) {}

  // Enqueues stretch `number`. False: its operations are to be done one by one.
  StatusOr<bool> Run(uint32_t number, const Values& values);
  // To be called where they are done so in any case.
  Status StartEager(uint32_t number);

  // Where the stretch is all that there is to do and has been recorded: in
  // `caller`, a queue of its device. False: nothing was done.
  StatusOr<bool> RunIn(Queue& caller, const Values& values);

  RecordingCounts counts() const;

 private:
  struct Recorded {
    std::unique_ptr<Recording> recording;
    uint64_t version = 0;  // 0: never filled
    uint64_t last_run = 0;
    std::vector<int64_t> symbols;
    // As Values; `staging` by work.
    std::vector<void*> table;
    std::vector<int64_t> sizes, args;
    std::vector<void*> staging;
  };
  struct State {
    bool seen = false;
    // Who was last: the queues one by one, or the recording in the origin.
    bool was_eager = false, was_recorded = false;
    bool gave_up = false;
    std::vector<Recorded> recorded;
    size_t current = 0;
  };

  using Stretch = ReplayCode::Stretch;

  Queue& queue(uint16_t number) const { return *queues_.queue(number); }
  // Enqueues the recording behind all that it comes after. Nothing of it runs
  // where that fails.
  Status RunRecorded(uint32_t number, const Values& values);
  // Where `status` is that there is no memory, or Unimplemented, the stretch is
  // given up; other ones are returned.
  Status GiveUp(uint32_t number, const Status& status);
  // The recording to run, as `values` say.
  StatusOr<Recorded*> Choose(uint32_t number, const Values& values);
  // Of the last ones, that of these symbols, or the one to give up.
  Recorded& Find(State& state, const Values& values);
  Status Record(const Stretch& stretch, const Values& values,
                Recorded* recorded);
  Status RecordAll(const Stretch& stretch);
  // False where the recording cannot be changed so.
  StatusOr<bool> Change(const Stretch& stretch, const Values& values,
                        Recorded* recorded);
  bool HasChanged(const Stretch::Work& work, const Values& values,
                  const Recorded& recorded) const;
  StatusOr<void*> StagingOf(const ReplayOp& op, const Values& values);
  // Makes `to` wait for what is in `from`.
  Status Join(uint16_t from, uint16_t to);

  const ReplayCode& code_;
  const std::span<const std::shared_ptr<Device>> devices_;
  FrameQueues& queues_;
  const Submit submit_;
  std::vector<State> stretches_;
  std::vector<std::unique_ptr<Event>> joins_;  // by queue, where it was used
  RecordingCounts counts_;
  const Recorded* last_direct_ = nullptr;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_FRAME_RECORDINGS_H_
