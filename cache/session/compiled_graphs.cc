#include "encore/cache/session/compiled_graphs.h"

#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include "encore/cache/store/entry.h"
#include "encore/cache/store/file_lock.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::cache {
namespace {

// About what a compiled graph takes in memory.
int64_t FootprintOf(const runtime::CompiledGraph& graph) {
  int64_t bytes =
      static_cast<int64_t>(graph.slots.size() * sizeof(runtime::Slot));
  for (const runtime::Blob& blob : graph.blobs) {
    bytes += static_cast<int64_t>(blob.bytes.size());
  }
  for (const runtime::Plan& plan : graph.plans) {
    bytes +=
        static_cast<int64_t>(plan.steps.size() * 2 * sizeof(runtime::Step));
  }
  return bytes;
}

}  // namespace

bool MayBeForElsewhere(const Status& status) {
  return status.code() == StatusCode::kFailedPrecondition ||
         status.code() == StatusCode::kNotFound;
}

struct CompiledGraphs::Flight {
  std::mutex mutex;
  std::condition_variable landed;
  std::optional<StatusOr<CompiledPtr>> result;

  void Land(const StatusOr<CompiledPtr>& with) {
    const std::lock_guard lock(mutex);
    result = with;
    landed.notify_all();
  }
  StatusOr<CompiledPtr> Wait() {
    std::unique_lock lock(mutex);
    landed.wait(lock, [&] { return result.has_value(); });
    return *result;
  }
};

CompiledGraphs::CompiledGraphs(const SessionOptions* options,
                               const PlanMaker* maker, Prefetcher* prefetcher,
                               WriteBehind* writes)
    : options_(options),
      maker_(maker),
      prefetcher_(prefetcher),
      writes_(writes),
      memory_(options->memory_bytes) {}

CompiledGraphs::~CompiledGraphs() = default;

CompiledPtr CompiledGraphs::FromMemory(const SessionRequest& request) {
  auto found = memory_.GetAs<Compiled>(request.key.view());
  return found != nullptr && request.IsMetBy(*found) ? found : nullptr;
}

void CompiledGraphs::ToMemory(const SessionRequest& request,
                              const CompiledPtr& compiled) {
  memory_.Put(request.key.view(), compiled,
              FootprintOf(compiled->executable->graph()));
}

StatusOr<CompiledPtr> CompiledGraphs::GetOrCompile(
    const SessionRequest& request, const std::string& source) {
  if (request.ingredients.unkeyable) {
    Count(&SessionStatistics::uncached);
    if (options_->log) {
      options_->log(
          StrCat("compiled and not cached: ", *request.ingredients.unkeyable));
    }
    ENCORE_ASSIGN_OR_RETURN(const MeasuredPlan plan, maker_->Compile(request));
    return maker_->Load(plan, request, FoundIn::kCompiled);
  }
  std::shared_ptr<Flight> flight;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = FromMemory(request)) {
      ++statistics_.memory_hits;
      return found;
    }
    auto& entry = flights_[request.key];
    mine = entry == nullptr;
    if (mine) entry = std::make_shared<Flight>();
    flight = entry;
  }
  if (!mine) {
    StatusOr<CompiledPtr> result = flight->Wait();
    if (result.ok()) Count(&SessionStatistics::memory_hits);
    return result;
  }
  StatusOr<CompiledPtr> result =
      InternalError("the compile that this one waited for ended unexpectedly");
  // Also where an exception passes: those who wait, and those who come later,
  // must not wait for ever.
  const auto land = [&](void*) {
    {
      const std::lock_guard lock(mutex_);
      if (result.ok() && !(*result)->cut_short) ToMemory(request, *result);
      flights_.erase(request.key);
    }
    flight->Land(result);
  };
  const std::unique_ptr<void, decltype(land)> landing(this, land);
  result = GetOrCompileUnshared(request, source);
  return result;
}

StatusOr<CompiledPtr> CompiledGraphs::GetOrCompileUnshared(
    const SessionRequest& request, const std::string& source) {
  MeasuredPlan plan;
  if (options_->disk == nullptr) return Compile(request, &plan);
  Found found = FromDisk(request, source);
  if (found.compiled != nullptr) return found.compiled;
  // Another process may be at it, and be done once the lock is free.
  const std::shared_ptr<const FileLock> lock =
      options_->disk->LockKey(request.key, options_->max_wait);
  if (!found.keep) {
    found = FromDisk(request, {});
    if (found.compiled != nullptr) return found.compiled;
  }
  ENCORE_ASSIGN_OR_RETURN(CompiledPtr compiled, Compile(request, &plan));
  if (!found.keep && !plan.cut_short) {
    writes_->Do([this, ingredients = request.ingredients, key = request.key,
                 plan = std::move(plan),
                 lock] { ToDisk(ingredients, key, plan); });
  }
  return compiled;
}

StatusOr<CompiledPtr> CompiledGraphs::Compile(const SessionRequest& request,
                                              MeasuredPlan* plan) {
  if (auto elsewhere = FromElsewhere(request)) {
    *plan = *std::move(elsewhere);
    return maker_->Load(*plan, request, FoundIn::kCompiled);
  }
  const auto begin = std::chrono::steady_clock::now();
  ENCORE_ASSIGN_OR_RETURN(*plan, maker_->Compile(request));
  {
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - begin;
    const std::lock_guard lock(mutex_);
    ++statistics_.misses;
    statistics_.compile_ms += time.count();
    statistics_.kernels_found += plan->kernels.found;
    statistics_.kernels_made += plan->kernels.made;
    statistics_.rewrites_found += plan->rewrites.found;
    statistics_.rewrites_made += plan->rewrites.made;
  }
  auto compiled = maker_->Load(*plan, request, FoundIn::kCompiled);
  if (MayBeForElsewhere(compiled.status())) {
    const std::lock_guard lock(mutex_);
    elsewhere_ = {request.key, *plan};
  }
  return compiled;
}

std::optional<MeasuredPlan> CompiledGraphs::FromElsewhere(
    const SessionRequest& request) {
  const std::lock_guard lock(mutex_);
  if (request.ingredients.unkeyable || elsewhere_.first != request.key) {
    return std::nullopt;
  }
  return elsewhere_.second;
}

CompiledGraphs::Found CompiledGraphs::FromDisk(const SessionRequest& request,
                                               const std::string& source) {
  std::optional<RecalledPlan> recalled = prefetcher_->Take(source, request);
  const auto container = recalled
                             ? recalled->container
                             : options_->disk->Get(kGraphKind, request.key);
  if (container == nullptr) return {};
  const Status fits = CheckEntry(*container, request.ingredients);
  Status status = fits;
  if (status.ok() && !recalled) {
    auto now = maker_->Recall(container);
    if (now.ok()) recalled = *std::move(now);
    status = now.status();
  }
  if (!fits.ok() || status.code() == StatusCode::kDataLoss) {
    options_->disk->Quarantine(kGraphKind, request.key, *container, status);
    return {};
  }
  if (!status.ok()) {
    if (options_->log) {
      options_->log(
          StrCat("a cache entry cannot be used now, it is left as it is: ",
                 Message(status)));
    }
    return {nullptr, true};
  }
  if (request.options.tune_seconds > 0 &&
      recalled->plan.measurements.gaps() > 0) {
    return {};
  }
  Count(&SessionStatistics::disk_hits);
  return {maker_->Use(request, recalled->plan, std::move(recalled->executable),
                      FoundIn::kDisk)};
}

void CompiledGraphs::ToDisk(const KeyIngredients& ingredients,
                            const Digest& key, const MeasuredPlan& plan) const {
  // Who waited in vain for another process may be done after it.
  const auto knows_more = [&](const Container& entry) {
    if (!CheckEntry(entry, ingredients).ok()) return false;
    const auto there = ReadEntryMeasurements(entry);
    return there.ok() && there->measured() > plan.measurements.measured();
  };
  options_->disk->PutUnless(
      kGraphKind, key, MakeEntry(ingredients, *plan.graph, plan.measurements),
      knows_more);
}

StatusOr<MeasuredPlan> CompiledGraphs::PlanOf(const SessionRequest& request) {
  const auto compiled = GetOrCompile(request);
  if (compiled.ok()) {
    const auto& executable = (*compiled)->executable;
    ENCORE_ASSIGN_OR_RETURN(
        MeasurementTable measurements,
        MeasurementTable::Decode((*compiled)->measurements));
    return MeasuredPlan{.graph = std::shared_ptr<const runtime::CompiledGraph>(
                            executable, &executable->graph()),
                        .measurements = std::move(measurements),
                        .cut_short = (*compiled)->cut_short};
  }
  if (!MayBeForElsewhere(compiled.status())) return compiled.status();
  if (auto elsewhere = FromElsewhere(request)) return *std::move(elsewhere);
  return maker_->Compile(request);
}

Status CompiledGraphs::Check(const SessionRequest& request,
                             const Compiled& compiled) const {
  ENCORE_ASSIGN_OR_RETURN(const MeasurementTable measurements,
                          MeasurementTable::Decode(compiled.measurements));
  ENCORE_ASSIGN_OR_RETURN(const MeasuredPlan again,
                          maker_->CompileRecorded(request, measurements));
  if (runtime::SerializeCompiledGraph(*again.graph) ==
      runtime::SerializeCompiledGraph(compiled.executable->graph())) {
    return OkStatus();
  }
  return InternalError(StrCat("the cached plan ", request.key.ToHex(),
                              " is not what compiling it gives"));
}

SessionStatistics CompiledGraphs::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void CompiledGraphs::Count(int64_t SessionStatistics::* counter) {
  const std::lock_guard lock(mutex_);
  ++(statistics_.*counter);
}

void CompiledGraphs::Count(const PreparedWeights& prepared) {
  const std::lock_guard lock(mutex_);
  ++(prepared.restored ? statistics_.weights_restored
                       : statistics_.weights_prepared);
  statistics_.parts_found += prepared.parts_found;
  statistics_.parts_made += prepared.parts_made;
}

void CompiledGraphs::AddLoadTime(double ms) {
  const std::lock_guard lock(mutex_);
  statistics_.load_ms += ms;
}

}  // namespace encore::cache
