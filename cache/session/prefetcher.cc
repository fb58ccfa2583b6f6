#include "encore/cache/session/prefetcher.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <string_view>
#include <system_error>
#include <utility>

#include "encore/cache/store/entry.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/thread.h"

namespace encore::cache {
namespace {

constexpr std::string_view kPrefetchKind = "prefetch";

// Other options and other targets give the same model another key, and so a
// prefetch of its own. A path that is relative means another file elsewhere:
// the error is that nobody knows where this is.
StatusOr<Digest> PrefetchName(const std::string& source,
                              const backends::CompileOptions& options,
                              const Target& target) {
  std::filesystem::path path = source;
  if (path.is_relative()) {
    ENCORE_ASSIGN_OR_RETURN(const std::filesystem::path here, RealPath("."));
    path = here / path;
  }
  KeyIngredients ingredients = IngredientsOf(Stencil(), options, target);
  ingredients.parts.emplace_back("source", path.lexically_normal());
  return KeyOf(ingredients);
}

}  // namespace

struct Prefetcher::Prefetch {
  Digest name;
  // What is under way recalls this entry.
  std::optional<Digest> key;
  std::future<std::optional<RecalledPlan>> recalled;
};

Prefetcher::Prefetcher(const SessionOptions* options, const PlanMaker* maker)
    : options_(options), maker_(maker) {}

// A future of std::async waits where it is destroyed.
Prefetcher::~Prefetcher() = default;

void Prefetcher::Start(const std::string& source) {
  if (options_->disk == nullptr) return;
  const auto target = options_->compiler.target(options_->compile);
  if (!target.ok()) return;  // the load says so
  const auto name = PrefetchName(source, options_->compile, *target);
  if (!name.ok()) return;
  auto prefetch = std::make_shared<Prefetch>();
  prefetch->name = *name;
  prefetch->key = ReadKeyEntry(*options_->disk, kPrefetchKind, prefetch->name);
  if (prefetch->key) {
    const auto recall =
        [this, key = *prefetch->key]() -> std::optional<RecalledPlan> {
      auto container = options_->disk->Get(kGraphKind, key);
      if (container == nullptr) return std::nullopt;
      auto recalled = maker_->Recall(std::move(container));
      // The load meets the same failure, and deals with it.
      if (!recalled.ok()) return std::nullopt;
      return *std::move(recalled);
    };
    try {
      prefetch->recalled = std::async(std::launch::async, InThread(recall));
    } catch (const std::system_error&) {
      // No thread to be had: the load does it all.
    }
  }
  const std::lock_guard lock(mutex_);
  prefetches_.insert_or_assign(source, std::move(prefetch));
}

std::shared_ptr<Prefetcher::Prefetch> Prefetcher::Find(
    const std::string& source) const {
  const std::lock_guard lock(mutex_);
  const auto found = prefetches_.find(source);
  return found == prefetches_.end() ? nullptr : found->second;
}

std::optional<RecalledPlan> Prefetcher::Take(const std::string& source,
                                             const SessionRequest& request) {
  const std::shared_ptr<Prefetch> prefetch = Find(source);
  std::future<std::optional<RecalledPlan>> recalled;
  if (prefetch != nullptr) {
    const std::lock_guard lock(mutex_);
    if (prefetch->key == request.key) recalled = std::move(prefetch->recalled);
  }
  if (!recalled.valid()) return std::nullopt;
  return recalled.get();
}

void Prefetcher::Remember(const std::string& source,
                          const SessionRequest& request, WriteBehind* writes) {
  const std::shared_ptr<Prefetch> prefetch = Find(source);
  if (prefetch == nullptr || request.ingredients.unkeyable) return;
  // What was wrongly recalled goes now where that is through, else with the
  // session: waiting for it would cost what the prefetch was to save.
  std::future<std::optional<RecalledPlan>> wrong;
  {
    const std::lock_guard lock(mutex_);
    if (prefetch->key == request.key) return;
    prefetch->key = request.key;
    auto& recalled = prefetch->recalled;
    if (recalled.valid() && recalled.wait_for(std::chrono::seconds(0)) ==
                                std::future_status::ready) {
      wrong = std::move(recalled);
    }
  }
  writes->Do([this, name = prefetch->name, key = request.key] {
    options_->disk->Put(kPrefetchKind, name, MakeKeyEntry(key));
  });
}

}  // namespace encore::cache
