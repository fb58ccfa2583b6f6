#include "encore/backends/cuda/fake/fake_driver.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "encore/backends/cuda/fake/state.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda::fake {
namespace {

std::atomic<FakeState*> current = nullptr;

constexpr std::string_view kNames[] = {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) #name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

constexpr int kVersions[] = {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) version,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

// Whether the function ends something, gives it back or waits: it does so even
// where it reports an error, as the real one's are of earlier work.
bool WorksAnyway(std::string_view name) {
  return name.ends_with("Destroy") || name.ends_with("Synchronize") ||
         name.ends_with("Release") || name.ends_with("Unload") ||
         name.ends_with("Free") || name.ends_with("FreeHost") ||
         name.ends_with("EndCapture");
}

// A function without an object around each of FakeState's.
template <FunctionNumber number, auto method>
struct Entry;
template <FunctionNumber number, typename... Arguments,
          Result (FakeState::*method)(Arguments...)>
struct Entry<number, method> {
  static Result Call(Arguments... arguments) {
    FakeState* const state = current.load();
    if (state == nullptr) return Result::kNotInitialized;
    const std::lock_guard lock(state->mutex_);
    static const bool works_anyway =
        WorksAnyway(kNames[static_cast<size_t>(number)]);
    Result result = state->Begin(number);
    if (result == Result::kSuccess) {
      result = (state->*method)(arguments...);
    } else if (works_anyway) {
      (void)(state->*method)(arguments...);
    }
    state->End(number, result);
    return result;
  }
};

void* const kEntries[] = {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) \
  reinterpret_cast<void*>(                              \
      &Entry<FunctionNumber::k_##name, &FakeState::name>::Call),
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

}  // namespace

Result FakeDriver::Find(const char* symbol, void** function, int version,
                        cuuint64_t, uint32_t*) {
  const auto found = std::ranges::find(kNames, std::string_view(symbol));
  if (found == std::end(kNames)) return Result::kNotFound;
  const auto number = found - std::begin(kNames);
  if (version < kVersions[number]) return Result::kNotFound;
  *function = kEntries[number];
  return Result::kSuccess;
}

std::shared_ptr<FakeDriver> FakeDriver::New(const FakeOptions& options) {
  return std::shared_ptr<FakeDriver>(new FakeDriver(options));
}

FakeDriver::FakeDriver(const FakeOptions& options)
    : state_(std::make_unique<FakeState>(options)) {
  FakeState* none = nullptr;
  ENCORE_CHECK(current.compare_exchange_strong(none, state_.get()))
      << "there is an emulated driver already";
  auto driver = Driver::Bind(&FakeDriver::Find, "the emulated driver");
  ENCORE_CHECK(driver.ok()) << driver.status();
  driver_ = *std::move(driver);
}

FakeDriver::~FakeDriver() { current = nullptr; }

void FakeDriver::FailCall(std::string_view function, int64_t k, Result code) {
  const std::lock_guard lock(state_->mutex_);
  if (function.empty()) {
    state_->all_ = {0, k, code};
    return;
  }
  const auto found = std::ranges::find(kNames, function);
  ENCORE_CHECK(found != std::end(kNames)) << "no function " << function;
  state_->counters_[static_cast<size_t>(found - std::begin(kNames))] = {0, k,
                                                                        code};
}

void FakeDriver::FailWork(int64_t k, Result code) {
  const std::lock_guard lock(state_->mutex_);
  state_->works_ = {0, k, code};
}

int64_t FakeDriver::calls(std::string_view function) const {
  const std::lock_guard lock(state_->mutex_);
  if (function.empty()) return state_->all_.count;
  const auto found = std::ranges::find(kNames, function);
  ENCORE_CHECK(found != std::end(kNames)) << "no function " << function;
  return state_->counters_[static_cast<size_t>(found - std::begin(kNames))]
      .count;
}

int64_t FakeDriver::works() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->works_.count;
}

std::vector<Activity> FakeDriver::TakeActivities() {
  const std::lock_guard lock(state_->mutex_);
  std::vector<Activity> taken(state_->activities_.begin(),
                              state_->activities_.end());
  state_->activities_.clear();
  return taken;
}

std::vector<std::string> FakeDriver::log() const {
  const std::lock_guard lock(state_->mutex_);
  std::vector<std::string> lines;
  for (const auto& [function, result] : state_->log_) {
    lines.push_back(StrCat(kNames[static_cast<size_t>(function)], " ",
                           static_cast<uint32_t>(result)));
  }
  return lines;
}

std::vector<std::string> FakeDriver::leaks() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->Leaks();
}

}  // namespace encore::backends::cuda::fake
