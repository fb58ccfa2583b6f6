// Weights: one set of parameter values for an executable, with the derived
// slots that its prepare plan makes of them (packed, folded). Immutable; shared
// by any number of replayers, which keep it alive.
#ifndef ENCORE_RUNTIME_REPLAY_WEIGHTS_H_
#define ENCORE_RUNTIME_REPLAY_WEIGHTS_H_

#include <memory>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

class Weights {
 public:
  // Whether `parameter`, given for the i-th of the graph, has the alignment of
  // its element; those that have not are copied.
  static bool IsUsedInPlace(const Executable& executable, size_t i,
                            const Blob& parameter);

  // Runs the prepare plan over `parameters`, in the order of graph.parameters.
  // Bytes are copied unless IsUsedInPlace; the blobs' owners keep them alive.
  // What only the prepare plan reads is let go after
  // it. InvalidArgument where number or sizes differ.
  static StatusOr<std::shared_ptr<const Weights>> Prepare(
      std::shared_ptr<const Executable> executable,
      std::span<const Blob> parameters, ThreadPool* threads);

  // The same where some derived slots are known already: those of `known`, in
  // the order of executable->derived(), that are not empty. Of the prepare plan
  // the steps for the others alone are run; what such a step writes beside them
  // is made too, and replaced in `known` by an empty blob. Host memory is used
  // in place as by Restore.
  static StatusOr<std::shared_ptr<const Weights>> PrepareRest(
      std::shared_ptr<const Executable> executable,
      std::span<const Blob> parameters, std::span<Blob> known,
      ThreadPool* threads);

  // The same with derived slots that an earlier Prepare made (DerivedBytes), in
  // the order of executable->derived(): mapped from a cache, say. Host memory
  // is used in place where it is aligned to kAlignment.
  static StatusOr<std::shared_ptr<const Weights>> Restore(
      std::shared_ptr<const Executable> executable,
      std::span<const Blob> parameters, std::span<const Blob> derived);

  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  // The bytes of derived slot i, in host memory: a view where they lie there,
  // else a copy.
  StatusOr<Blob> DerivedBytes(size_t i) const;

  // For replayers: addresses in the order of graph.parameters and derived();
  // null for a parameter that replays do not read.
  std::span<void* const> parameters() const { return parameters_; }
  std::span<void* const> derived() const { return derived_; }
  const Executable& executable() const { return *executable_; }

 private:
  explicit Weights(std::shared_ptr<const Executable> executable)
      : executable_(std::move(executable)) {}
  Status BindParameters(std::span<const Blob> parameters, bool for_prepare);
  // Lets go of the parameters that replays do not read. REQUIRES that all are
  // bound for the prepare plan.
  void ForgetUnread();
  Status AllocateDerived(size_t i);
  // Derived slot i is those bytes.
  Status PlaceDerived(size_t i, const Blob& bytes);
  // Runs `prepare`, of `graph`: all of the prepare plan, or the part that makes
  // the derived slots that are `wanted`. Where there is not enough memory for
  // it, the same of Executable::smaller.
  Status RunPrepare(const CompiledGraph& graph, const ReplayCode& prepare,
                    const std::vector<bool>& wanted, ThreadPool* threads);
  Status RunOnce(const CompiledGraph& graph, const ReplayCode& prepare,
                 ThreadPool* threads);

  std::shared_ptr<const Executable> executable_;
  std::vector<Blob> kept_;  // what the addresses point into
  std::vector<void*> parameters_, derived_;
  std::vector<bool> owns_derived_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_WEIGHTS_H_
