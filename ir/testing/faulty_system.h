// FaultySystem: the system's calls, of which one fails, or that lie.
//
//   FaultySystem system;
//   const ScopedSystemCalls scope(&system);
//   system.FailCall(7, 0);  // the eighth from here on, as its first fault
//
// Calls are counted from 0 in the order in which they are made; a program that
// makes them from several threads gets its faults in some order. Thread-safe.
#ifndef ENCORE_IR_TESTING_FAULTY_SYSTEM_H_
#define ENCORE_IR_TESTING_FAULTY_SYSTEM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/system_calls.h"

namespace encore {

// What a read or write does instead of failing: half of what it was asked.
inline constexpr int kShort = -1;

// The faults of a call: the errors that system_calls.def names, and kShort.
std::vector<int> FaultsOf(SystemCall call);
// "EIO", "short".
std::string_view FaultName(int fault);

// Calls that are looked at before they are made.
class WatchedSystem : public SystemCalls {
 public:
#define ENCORE_SYSTEM_CALL(Result, Name, function, Parameters, ...) \
  Result Name Parameters override;
#include "encore/ir/support/system_calls.def"
#undef ENCORE_SYSTEM_CALL

 protected:
  ~WatchedSystem() = default;
  // 0 to go on, or the fault.
  virtual int Before(SystemCall call) = 0;
};

class FaultySystem final : public WatchedSystem {
 public:
  // Call `number` from now on has the fault FaultsOf(its kind)[which], as has
  // every later one of its kind where `lasting`; nothing happens where its kind
  // has no such fault. Starts to count anew.
  void FailCall(uint64_t number, size_t which, bool lasting = false);
  // Every call of the kind from now on, beside those of kinds that were said
  // before; where it is interrupted, the first.
  void FailAll(SystemCall call, int fault);
  void Stop();

  // What Stop undoes as well: the clocks are ahead by `ns`; whoever asks for a
  // lock is told that it has it.
  void set_clock_offset_ns(int64_t ns) { clock_offset_ns_ = ns; }
  void set_locks_lie(bool lie) { locks_lie_ = lie; }
  // Times of files are those of a server whose clock says a new time once in
  // `ns`, counted from the epoch: two changes in between leave the same.
  void set_file_tick_ns(int64_t ns) { file_tick_ns_ = ns; }

  // Of the calls since FailCall or the construction.
  std::vector<SystemCall> calls() const;
  // Whether a fault came since then.
  bool fired() const;
  // How often each fault came, in all.
  const std::map<std::pair<SystemCall, int>, uint64_t>& counts() const {
    return counts_;
  }

  ssize_t PRead(int fd, void* data, size_t size, off_t offset) override;
  ssize_t Write(int fd, const void* data, size_t size) override;
  int FLock(int fd, int operation) override;
  int FStat(int fd, struct stat* info) override;
  int FStatAt(int folder, const char* path, struct stat* info,
              int flags) override;
  int ClockGetTime(clockid_t clock, struct timespec* time) override;

 private:
  int WithTicks(int result, struct stat* info) const;
  int Before(SystemCall call) override;

  mutable std::mutex mutex_;
  std::vector<SystemCall> calls_;
  std::optional<uint64_t> number_;
  size_t which_ = 0;
  bool lasting_ = false, fired_ = false;
  std::map<SystemCall, int> lasting_faults_;
  std::map<std::pair<SystemCall, int>, uint64_t> counts_;
  std::atomic<int64_t> clock_offset_ns_ = 0;
  std::atomic<int64_t> file_tick_ns_ = 1;
  std::atomic<bool> locks_lie_ = false;
};

}  // namespace encore

#endif  // ENCORE_IR_TESTING_FAULTY_SYSTEM_H_
