#include "encore/ir/testing/faulty_system.h"

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace encore {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

// What is done of `size` bytes: at least one, so that it is no end of a file.
size_t Part(size_t size) { return size < 2 ? size : size / 2; }

ssize_t Fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

std::vector<int> FaultsOf(SystemCall call) {
  std::vector<int> faults;
  switch (call) {
#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, Arguments, \
                           failure, ...)                                  \
  case SystemCall::k##Name:                                               \
    faults = std::initializer_list<int>{__VA_ARGS__};                     \
    break;
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL
  }
  if (call == SystemCall::kPRead || call == SystemCall::kWrite) {
    faults.push_back(kShort);
  }
  return faults;
}

std::string_view FaultName(int fault) {
  return fault == kShort ? "short" : strerrorname_np(fault);
}

#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, Arguments, \
                           failure, ...)                                  \
  Result WatchedSystem::Name Parameters {                                 \
    const int fault = Before(SystemCall::k##Name);                        \
    if (fault == 0) return SystemCalls::Name Arguments;                   \
    /* Linux closes all the same. */                                      \
    if (SystemCall::k##Name == SystemCall::kClose) {                      \
      (void)SystemCalls::Name Arguments;                                  \
    }                                                                     \
    errno = fault;                                                        \
    return failure;                                                       \
  }
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL

void FaultySystem::FailCall(uint64_t number, size_t which, bool lasting) {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  number_ = number;
  which_ = which;
  lasting_ = lasting;
  fired_ = false;
  lasting_faults_.clear();
}

void FaultySystem::FailAll(SystemCall call, int fault) {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  number_.reset();
  fired_ = false;
  lasting_faults_[call] = fault;
}

void FaultySystem::Stop() {
  const std::lock_guard lock(mutex_);
  number_.reset();
  lasting_faults_.clear();
  clock_offset_ns_ = 0;
  locks_lie_ = false;
  file_tick_ns_ = 1;
}

std::vector<SystemCall> FaultySystem::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool FaultySystem::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

int FaultySystem::FLock(int fd, int operation) {
  if (locks_lie_) return 0;
  return WatchedSystem::FLock(fd, operation);
}

ssize_t FaultySystem::PRead(int fd, void* data, size_t size, off_t offset) {
  const int fault = Before(SystemCall::kPRead);
  if (fault > 0) return Fail(fault);
  return SystemCalls::PRead(fd, data, fault == kShort ? Part(size) : size,
                            offset);
}

ssize_t FaultySystem::Write(int fd, const void* data, size_t size) {
  const int fault = Before(SystemCall::kWrite);
  if (fault > 0) return Fail(fault);
  return SystemCalls::Write(fd, data, fault == kShort ? Part(size) : size);
}

int FaultySystem::WithTicks(int result, struct stat* info) const {
  if (result != 0) return result;
  for (timespec* time : {&info->st_mtim, &info->st_ctim}) {
    const int64_t ns = int64_t{time->tv_sec} * kSecondNs + time->tv_nsec;
    const int64_t last = ns - ns % file_tick_ns_;
    *time = {last / kSecondNs, last % kSecondNs};
  }
  return result;
}

int FaultySystem::FStat(int fd, struct stat* info) {
  return WithTicks(WatchedSystem::FStat(fd, info), info);
}

int FaultySystem::FStatAt(int folder, const char* path, struct stat* info,
                          int flags) {
  return WithTicks(WatchedSystem::FStatAt(folder, path, info, flags), info);
}

int FaultySystem::ClockGetTime(clockid_t clock, struct timespec* time) {
  const int result = WatchedSystem::ClockGetTime(clock, time);
  const int64_t ns = int64_t{time->tv_nsec} + clock_offset_ns_ % kSecondNs;
  time->tv_sec += clock_offset_ns_ / kSecondNs;
  if (ns < 0) --time->tv_sec;
  if (ns >= kSecondNs) ++time->tv_sec;
  time->tv_nsec = (ns + kSecondNs) % kSecondNs;
  return result;
}

int FaultySystem::Before(SystemCall call) {
  const std::lock_guard lock(mutex_);
  const uint64_t number = calls_.size();
  calls_.push_back(call);
  int fault = 0;
  const auto lasting = lasting_faults_.find(call);
  if (lasting != lasting_faults_.end()) {
    fault = lasting->second;
    if (fault == EINTR) lasting_faults_.erase(lasting);
  } else if (number_ == number) {
    const std::vector<int> faults = FaultsOf(call);
    if (which_ >= faults.size()) return 0;
    fault = faults[which_];
    // A call that is interrupted each time would never end.
    if (lasting_ && fault != EINTR) lasting_faults_[call] = fault;
  }
  if (fault == 0) return 0;
  fired_ = true;
  ++counts_[{call, fault}];
  return fault;
}

}  // namespace encore
