// KernelTable: the regions of a graph as kernels, each compiled once.
#ifndef ENCORE_BACKENDS_LOWERING_KERNELS_H_
#define ENCORE_BACKENDS_LOWERING_KERNELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/measurement.h"
#include "encore/backends/region/build.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

class KernelTable {
 public:
  KernelTable(const Placement& placement, const CompileOptions& options,
              std::span<const Symbol> symbols)
      : placement_(placement), options_(options), symbols_(symbols) {}

  // Estimated seconds of a call for the backend's kernel (CallSeconds) and, by
  // options.memory, for what it writes; nothing where it has none. weights[i]:
  // input i is known at prepare. The backend is asked once for equal regions.
  std::optional<double> Seconds(const BuiltRegion& built,
                                const std::vector<bool>& weights, int backend);

  const CompileOptions& options() const { return options_; }

  // The candidates that ask for layouts of their own (Candidate::inputs).
  std::vector<Candidate> InOtherLayouts(const BuiltRegion& built,
                                        const std::vector<bool>& weights,
                                        int backend);

  // The number of the kernel for that region, the same for equal ones. Nothing
  // where the backend has none.
  std::optional<int> Add(const BuiltRegion& built,
                         const std::vector<bool>& weights, int backend);

  // Seconds, as above, of a kernel that was added.
  double estimate(int number) const {
    const Entry& entry = *entries_[number];
    return SecondsOf(entry.candidates.front(), entry.region);
  }

  // Chooses between candidates by the measurements in `store`, which may be
  // null. For options.tune_seconds, makes those that are not there, of the
  // kernels first that are estimated to take most of the time. False where that
  // time was over before all were measured.
  bool Choose(ArtifactStore* store);

  // Compiles all that was added and puts kernel binaries and blobs into
  // `graph`.
  Status Compile(ArtifactStore* store, runtime::CompiledGraph* graph);

  // After Compile.
  const CompiledKernel& kernel(int number) const {
    return entries_[number]->compiled;
  }
  runtime::KernelBinaryId binary(int number) const {
    return entries_[number]->binary;
  }
  // The binary that packs packed input `i` of a kernel; equal ones are one.
  runtime::KernelBinaryId packer(int number, size_t i) const {
    return entries_[number]->packers[i];
  }

 private:
  struct Entry {
    Region region;
    std::vector<bool> weights;
    std::vector<Symbol> symbols;
    int backend = 0;
    int uses = 1;
    // Those that are worth measuring; `chosen` is the one to compile.
    std::vector<Candidate> candidates;
    size_t chosen = 0;
    CompiledKernel compiled;
    runtime::KernelBinaryId binary;
    std::vector<runtime::KernelBinaryId> packers;
  };

  // All that a backend's answer depends on, as bytes: equal ones only for equal
  // requests.
  using RequestKey = std::vector<std::byte>;
  static RequestKey KeyOf(const Region& region,
                          const std::vector<bool>& weights,
                          std::span<const Symbol> symbols, int backend);

  std::vector<Symbol> SymbolsOf(const BuiltRegion& built) const;
  // What a backend has for a request.
  struct Answer {
    std::vector<Candidate> candidates;  // of the region as it is
    std::vector<Candidate> relaid;      // of the region in other layouts
  };
  // For the request whose key is `key`. Valid until the next call.
  const Answer& Ask(const RequestKey& key, const KernelRequest& request,
                    int backend);
  const Answer& Ask(const BuiltRegion& built, const std::vector<bool>& weights,
                    int backend);
  // Entries with a choice that nothing in `store` decides; the others are
  // chosen.
  std::vector<Entry*> ChooseKnown(ArtifactStore* store);
  static KernelRequest RequestOf(const Entry& entry) {
    return {&entry.region, entry.weights, entry.symbols};
  }
  std::string MeasurementKeyOf(const Entry& entry) const;
  double SecondsOf(const Candidate& candidate, const Region& region) const;
  // The candidate to take, by what all of them took.
  size_t BestFor(const Entry& entry, Measurement measured) const;
  Status CompileFor(int backend, ArtifactStore* store,
                    runtime::CompiledGraph* graph);

  const Placement& placement_;
  const CompileOptions& options_;
  std::span<const Symbol> symbols_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<RequestKey, int> numbers_;
  // What backends answered, as fusion asks for the regions of repeated blocks,
  // and of all that it tries, again; at most kMostAnswerBytes of keys.
  std::map<RequestKey, Answer> answers_;
  size_t answer_bytes_ = 0;
  std::map<std::string, runtime::KernelBinaryId> packers_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_KERNELS_H_
