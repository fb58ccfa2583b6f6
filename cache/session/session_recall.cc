// The session's entries on disk, and the prefetch of which comes next.

#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "encore/cache/session/session.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/thread.h"

namespace encore::cache {
namespace {

constexpr std::string_view kGuessKind = "prefetch";

// Other options and other targets give the same model another key, and so a
// prefetch of its own. A path that is relative means another file elsewhere.
Digest GuessName(const std::string& source,
                 const backends::CompileOptions& options,
                 const Target& target) {
  KeyIngredients ingredients = IngredientsOf(Stencil(), options, target);
  std::error_code error;
  ingredients.parts.emplace_back(
      "source", std::filesystem::absolute(source, error).lexically_normal());
  return KeyOf(ingredients);
}

}  // namespace

struct Session::Prefetch {
  Digest name;
  // What is under way recalls this entry.
  std::optional<Digest> key;
  std::future<std::optional<Recalled>> recalled;
};

void Session::Anticipate(const std::string& source) {
  if (options_.disk == nullptr) return;
  const auto target = options_.compiler.target(options_.compile);
  if (!target.ok()) return;  // Load says so
  auto prefetch = std::make_shared<Prefetch>();
  prefetch->name = GuessName(source, options_.compile, *target);
  prefetch->key = ReadKeyEntry(*options_.disk, kGuessKind, prefetch->name);
  if (prefetch->key) {
    const auto recall = [this,
                         key = *prefetch->key]() -> std::optional<Recalled> {
      auto container = options_.disk->Get(kGraphKind, key);
      if (container == nullptr) return std::nullopt;
      auto recalled = Recall(std::move(container));
      // Load meets the same failure, and deals with it.
      if (!recalled.ok()) return std::nullopt;
      return *std::move(recalled);
    };
    try {
      prefetch->recalled = std::async(std::launch::async, InThread(recall));
    } catch (const std::system_error&) {
      // No thread to be had: Load does it all.
    }
  }
  const std::lock_guard lock(mutex_);
  prefetches_.insert_or_assign(source, std::move(prefetch));
}

std::shared_ptr<Session::Prefetch> Session::FindPrefetch(
    const LoadOptions& options) const {
  const std::lock_guard lock(mutex_);
  const auto found = prefetches_.find(options.source);
  return found == prefetches_.end() ? nullptr : found->second;
}

std::optional<Session::Recalled> Session::Prefetched(
    const SessionRequest& request) const {
  std::future<std::optional<Recalled>> recalled;
  if (request.prefetch != nullptr) {
    const std::lock_guard lock(mutex_);
    if (request.prefetch->key == request.key) {
      recalled = std::move(request.prefetch->recalled);
    }
  }
  if (!recalled.valid()) return std::nullopt;
  return recalled.get();
}

void Session::RememberKey(const SessionRequest& request) {
  if (request.prefetch == nullptr || request.ingredients.unkeyable) return;
  // What was wrongly recalled goes now where that is through, else with the
  // session: waiting for it would cost what the prefetch was to save.
  std::future<std::optional<Recalled>> wrong;
  {
    const std::lock_guard lock(mutex_);
    if (request.prefetch->key == request.key) return;
    request.prefetch->key = request.key;
    auto& recalled = request.prefetch->recalled;
    if (recalled.valid() && recalled.wait_for(std::chrono::seconds(0)) ==
                                std::future_status::ready) {
      wrong = std::move(recalled);
    }
  }
  options_.disk->Put(kGuessKind, request.prefetch->name,
                     MakeKeyEntry(request.key));
}

StatusOr<Session::Recalled> Session::Recall(
    std::shared_ptr<const Container> container) const {
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph graph, ReadEntry(container));
  ENCORE_ASSIGN_OR_RETURN(MeasurementTable measurements,
                          ReadEntryMeasurements(*container));
  Recalled recalled;
  recalled.plan = {
      std::make_shared<const runtime::CompiledGraph>(std::move(graph)),
      std::move(measurements)};
  ENCORE_ASSIGN_OR_RETURN(recalled.executable, OnDevices(recalled.plan));
  recalled.container = std::move(container);
  return recalled;
}

Session::Found Session::FromDisk(const SessionRequest& request) {
  std::optional<Recalled> recalled = Prefetched(request);
  const auto container = recalled ? recalled->container
                                  : options_.disk->Get(kGraphKind, request.key);
  if (container == nullptr) return {};
  const Status fits = CheckEntry(*container, request.ingredients);
  Status status = fits;
  if (status.ok() && !recalled) {
    auto now = Recall(container);
    if (now.ok()) recalled = *std::move(now);
    status = now.status();
  }
  if (!fits.ok() || status.code() == StatusCode::kDataLoss) {
    options_.disk->Quarantine(kGraphKind, request.key, Message(status));
    return {};
  }
  if (!status.ok()) {
    if (options_.log) {
      options_.log(
          StrCat("a cache entry cannot be used now, it is left as it "
                 "is: ",
                 Message(status)));
    }
    return {nullptr, true};
  }
  if (request.options.tune_seconds > 0 &&
      recalled->plan.measurements.gaps() > 0) {
    return {};
  }
  Count(&SessionStatistics::disk_hits);
  return {Loadable(request, recalled->plan, std::move(recalled->executable),
                   FoundIn::kDisk)};
}

void Session::ToDisk(const SessionRequest& request, const Plan& plan) {
  options_.disk->Put(
      kGraphKind, request.key,
      MakeEntry(request.ingredients, *plan.graph, plan.measurements));
}

}  // namespace encore::cache
