// The session's entries on disk, and the guess of which comes next.

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

constexpr std::string_view kGuessKind = "guess";

// Other options and other targets give the same model another key, and so a
// guess of its own. A path that is relative means another file elsewhere.
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

struct Session::Guess {
  Digest name;
  // What is under way recalls this entry.
  std::optional<Digest> key;
  std::future<std::optional<Recalled>> recalled;
};

void Session::Anticipate(const std::string& source) {
  if (options_.disk == nullptr) return;
  const auto target = options_.compiler.target(options_.compile);
  if (!target.ok()) return;  // Load says so
  auto guess = std::make_shared<Guess>();
  guess->name = GuessName(source, options_.compile, *target);
  guess->key = ReadKeyEntry(*options_.disk, kGuessKind, guess->name);
  if (guess->key) {
    const auto recall = [this, key = *guess->key]() -> std::optional<Recalled> {
      auto container = options_.disk->Get(kGraphKind, key);
      if (container == nullptr) return std::nullopt;
      auto recalled = Recall(std::move(container));
      // Load meets the same failure, and deals with it.
      if (!recalled.ok()) return std::nullopt;
      return *std::move(recalled);
    };
    try {
      guess->recalled = std::async(std::launch::async, InThread(recall));
    } catch (const std::system_error&) {
      // No thread to be had: Load does it all.
    }
  }
  const std::lock_guard lock(mutex_);
  guesses_.insert_or_assign(source, std::move(guess));
}

std::shared_ptr<Session::Guess> Session::FindGuess(
    const LoadOptions& options) const {
  const std::lock_guard lock(mutex_);
  const auto found = guesses_.find(options.source);
  return found == guesses_.end() ? nullptr : found->second;
}

std::optional<Session::Recalled> Session::Guessed(const Wanted& wanted) const {
  std::future<std::optional<Recalled>> recalled;
  if (wanted.guess != nullptr) {
    const std::lock_guard lock(mutex_);
    if (wanted.guess->key == wanted.key) {
      recalled = std::move(wanted.guess->recalled);
    }
  }
  if (!recalled.valid()) return std::nullopt;
  return recalled.get();
}

void Session::Learn(const Wanted& wanted) {
  if (wanted.guess == nullptr || wanted.ingredients.unkeyable) return;
  // What was wrongly recalled goes now where that is through, else with the
  // session: waiting for it would cost what the guess was to save.
  std::future<std::optional<Recalled>> wrong;
  {
    const std::lock_guard lock(mutex_);
    if (wanted.guess->key == wanted.key) return;
    wanted.guess->key = wanted.key;
    auto& recalled = wanted.guess->recalled;
    if (recalled.valid() && recalled.wait_for(std::chrono::seconds(0)) ==
                                std::future_status::ready) {
      wrong = std::move(recalled);
    }
  }
  options_.disk->Put(kGuessKind, wanted.guess->name, MakeKeyEntry(wanted.key));
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

Session::Found Session::FromDisk(const Wanted& wanted) {
  std::optional<Recalled> recalled = Guessed(wanted);
  const auto container = recalled ? recalled->container
                                  : options_.disk->Get(kGraphKind, wanted.key);
  if (container == nullptr) return {};
  const Status fits = CheckEntry(*container, wanted.ingredients);
  Status status = fits;
  if (status.ok() && !recalled) {
    auto now = Recall(container);
    if (now.ok()) recalled = *std::move(now);
    status = now.status();
  }
  if (!fits.ok() || status.code() == StatusCode::kDataLoss) {
    options_.disk->Quarantine(kGraphKind, wanted.key, Message(status));
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
  if (wanted.options.tune_seconds > 0 &&
      recalled->plan.measurements.gaps() > 0) {
    return {};
  }
  Count(&SessionStatistics::disk_hits);
  return {Loadable(wanted, recalled->plan, std::move(recalled->executable),
                   FoundIn::kDisk)};
}

void Session::ToDisk(const Wanted& wanted, const Plan& plan) {
  options_.disk->Put(
      kGraphKind, wanted.key,
      MakeEntry(wanted.ingredients, *plan.graph, plan.measurements));
}

}  // namespace encore::cache
