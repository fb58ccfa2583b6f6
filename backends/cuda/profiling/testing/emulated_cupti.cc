// A library in the place of CUPTI, whose records are of work that a driver
// which executes has done (emulated_cupti_abi.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "encore/backends/cuda/profiling/cupti_types.h"
#include "encore/backends/cuda/profiling/testing/emulated_cupti_abi.h"

namespace encore::backends::cuda {
namespace {

constexpr CuptiResult kInvalid = CuptiResult(1);

struct Counter {
  int64_t count = 0, fail_at = -1;
  CuptiResult result = CuptiResult::kSuccess;
};

struct State {
  size_t (*take)(EmulatedActivity*, size_t) = nullptr;
  CuptiRequestBuffer request = nullptr;
  CuptiTakeBuffer give = nullptr;
  std::set<CuptiKind> enabled;
  std::map<CUstream, uint32_t> streams;
  std::map<std::string, Counter> counters;
};

State& The() {
  static auto* const state = new State;
  return *state;
}

bool Fails(const char* function, CuptiResult* result) {
  Counter& counter = The().counters[function];
  *result = counter.result;
  return counter.count++ == counter.fail_at;
}

uint32_t IdOf(CUstream stream) {
  auto& ids = The().streams;
  return ids.try_emplace(stream, static_cast<uint32_t>(ids.size() + 7))
      .first->second;
}

void Use(size_t (*take)(EmulatedActivity*, size_t)) { The().take = take; }

void Fail(const char* function, int64_t k, CuptiResult result) {
  The().counters[function] = {0, k, result};
}

int64_t Calls(const char* function) { return The().counters[function].count; }

int64_t Enabled() { return static_cast<int64_t>(The().enabled.size()); }

template <typename Record>
void Append(const EmulatedActivity& activity, CuptiKind kind, uint8_t* buffer,
            size_t* used) {
  Record record = {};
  record.kind = kind;
  record.start = static_cast<uint64_t>(activity.begin_ns);
  record.end = static_cast<uint64_t>(activity.end_ns);
  record.streamId = IdOf(activity.stream);
  std::memcpy(buffer + *used, &record, sizeof(record));
  *used += sizeof(record);
}

// Of the work since it was called before, whether it is wanted or not.
void Deliver(bool wanted) {
  std::array<EmulatedActivity, 64> activities;
  while (The().take != nullptr) {
    const size_t count = The().take(activities.data(), activities.size());
    if (count == 0) return;
    if (!wanted || The().request == nullptr) continue;
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0, used = 0;
    The().request(&buffer, &bytes, &most);
    for (size_t i = 0; i < count; ++i) {
      if (used + sizeof(CuptiKernelRecord) > bytes) break;
      const CuptiKind kind = activities[i].is_copy
                                 ? CuptiKind::kMemcpy
                                 : CuptiKind::kConcurrentKernel;
      if (!The().enabled.contains(kind)) continue;
      if (activities[i].is_copy) {
        Append<CuptiCopyRecord>(activities[i], kind, buffer, &used);
      } else {
        Append<CuptiKernelRecord>(activities[i], kind, buffer, &used);
      }
    }
    The().give(nullptr, 0, buffer, bytes, used);
  }
}

}  // namespace

extern "C" {

const EmulatedCuptiControl* EmulatedCupti() {
  static constexpr EmulatedCuptiControl control = {&Use, &Fail, &Calls,
                                                   &Enabled};
  return &control;
}

CuptiResult cuptiGetVersion(uint32_t* version) {
  CuptiResult result;
  if (Fails("cuptiGetVersion", &result)) return result;
  *version = 130001;
  return CuptiResult::kSuccess;
}

CuptiResult cuptiGetResultString(CuptiResult result, const char** text) {
  *text = result == CuptiResult::kSuccess ? "CUPTI_SUCCESS" : "CUPTI_ERROR";
  return CuptiResult::kSuccess;
}

CuptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t,
                               uint32_t* id) {
  CuptiResult result;
  if (Fails("cuptiGetStreamIdEx", &result)) return result;
  *id = IdOf(stream);
  return CuptiResult::kSuccess;
}

CuptiResult cuptiActivityRegisterCallbacks(CuptiRequestBuffer request,
                                           CuptiTakeBuffer take) {
  CuptiResult result;
  if (Fails("cuptiActivityRegisterCallbacks", &result)) return result;
  The().request = request;
  The().give = take;
  return CuptiResult::kSuccess;
}

CuptiResult cuptiActivityEnable(CuptiKind kind) {
  CuptiResult result;
  if (Fails("cuptiActivityEnable", &result)) return result;
  Deliver(!The().enabled.empty());
  return The().enabled.insert(kind).second ? CuptiResult::kSuccess : kInvalid;
}

CuptiResult cuptiActivityDisable(CuptiKind kind) {
  CuptiResult result;
  const bool fails = Fails("cuptiActivityDisable", &result);
  The().enabled.erase(kind);
  return fails ? result : CuptiResult::kSuccess;
}

CuptiResult cuptiActivityFlushAll(uint32_t) {
  CuptiResult result;
  if (Fails("cuptiActivityFlushAll", &result)) return result;
  Deliver(!The().enabled.empty());
  return CuptiResult::kSuccess;
}

CuptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes,
                                       CuptiRecord** record) {
  CuptiResult result;
  if (Fails("cuptiActivityGetNextRecord", &result)) return result;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) +
           ((*record)->kind == CuptiKind::kMemcpy ? sizeof(CuptiCopyRecord)
                                                  : sizeof(CuptiKernelRecord));
  }
  if (next == buffer + bytes) return CuptiResult::kMaxLimitReached;
  *record = reinterpret_cast<CuptiRecord*>(next);
  return CuptiResult::kSuccess;
}

}  // extern "C"

}  // namespace encore::backends::cuda
