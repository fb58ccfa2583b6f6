// Decider: what a device implements beside Device (device.h) that can decide by
// itself what is done of recorded work, so that the host does not wait for a
// selector.
//
// A decision is recorded in a queue that is being recorded:
//
//   StartDecision(queue)
//   BeginBody(queue, Kind::kIf, selector)     launches and copies: where it is
//   1 NextBody(queue)                           others: where it is 0
//   EndDecision(queue)
//
//   StartDecision(queue)                      launches and copies that make the
//   BeginBody(queue, Kind::kWhile, selector)  selector; those of a trip, which
//   EndDecision(queue)                        make it again
//
// All of it is one operation of the recording, between StartDecision and
// EndDecision; others may lie in its bodies. The selector is a bool in the
// device's memory, read after what was enqueued before BeginBody and, of
// kWhile, after each trip.
#ifndef ENCORE_RUNTIME_DEVICE_DECIDER_H_
#define ENCORE_RUNTIME_DEVICE_DECIDER_H_

#include <cstdint>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::runtime {

class Decider {
 public:
  enum class Kind : uint8_t { kIf, kWhile };

  virtual ~Decider() = default;
  // Whether it does so here for control flow of `kind`; asked when an
  // executable is loaded. A loop that the device decides does not end by
  // Replayer::Cancel, nor by a check that does not hold in a trip, before its
  // selector says so.
  virtual bool decides(Kind kind) const = 0;
  // Unimplemented for a queue of Recording::Replace: what decides is recorded
  // anew where addresses change. After an error of these the recording fails.
  virtual Status StartDecision(Queue& queue) = 0;
  virtual Status BeginBody(Queue& queue, Kind kind, const void* selector) = 0;
  virtual Status NextBody(Queue& queue) = 0;
  virtual Status EndDecision(Queue& queue) = 0;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_DECIDER_H_
