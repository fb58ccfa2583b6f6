#include "encore/opt/extract/mip.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "encore/ir/support/thread.h"
#include "interfaces/highs_c_api.h"

// The bytes of the shared library, see the BUILD file.
extern "C" const char encore_highs_library_begin[];
extern "C" const char encore_highs_library_end[];

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How long after its deadline the solver is waited for: it looks at the clock
// between steps, and a step of a large program may be long.
constexpr std::chrono::milliseconds kGrace(150);
constexpr std::chrono::milliseconds kPoll(50);

// The functions of the library that are used, typed by its own header.
struct Library {
  bool loaded = false;
  decltype(&Highs_create) create;
  decltype(&Highs_destroy) destroy;
  decltype(&Highs_setBoolOptionValue) set_bool;
  decltype(&Highs_setIntOptionValue) set_int;
  decltype(&Highs_setDoubleOptionValue) set_double;
  decltype(&Highs_setStringOptionValue) set_string;
  decltype(&Highs_passMip) pass_mip;
  decltype(&Highs_setSolution) set_solution;
  decltype(&Highs_setCallback) set_callback;
  decltype(&Highs_startCallback) start_callback;
  decltype(&Highs_run) run;
  decltype(&Highs_getModelStatus) model_status;
  decltype(&Highs_getDoubleInfoValue) double_info;
  decltype(&Highs_getIntInfoValue) int_info;
  decltype(&Highs_getSolution) get_solution;
  decltype(&Highs_getCallbackDataOutItem) callback_item;
};

bool WriteAll(int file, const char* begin, const char* end) {
  while (begin < end) {
    const ssize_t written = write(file, begin, end - begin);
    if (written <= 0) return false;
    begin += written;
  }
  return true;
}

// A handle of the carried library, or null.
void* OpenCarriedLibrary() {
  const int file = memfd_create("highs", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* handle = nullptr;
  if (WriteAll(file, encore_highs_library_begin, encore_highs_library_end)) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  close(file);
  return handle;
}

Library Load() {
  Library lib;
  void* const handle = OpenCarriedLibrary();
  if (handle == nullptr) return lib;
  lib.loaded = true;
  const auto bind = [&](auto& function, const char* name) {
    void* const symbol = dlsym(handle, name);
    lib.loaded &= symbol != nullptr;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
  bind(lib.create, "Highs_create");
  bind(lib.destroy, "Highs_destroy");
  bind(lib.set_bool, "Highs_setBoolOptionValue");
  bind(lib.set_int, "Highs_setIntOptionValue");
  bind(lib.set_double, "Highs_setDoubleOptionValue");
  bind(lib.set_string, "Highs_setStringOptionValue");
  bind(lib.pass_mip, "Highs_passMip");
  bind(lib.set_solution, "Highs_setSolution");
  bind(lib.set_callback, "Highs_setCallback");
  bind(lib.start_callback, "Highs_startCallback");
  bind(lib.run, "Highs_run");
  bind(lib.model_status, "Highs_getModelStatus");
  bind(lib.double_info, "Highs_getDoubleInfoValue");
  bind(lib.int_info, "Highs_getIntInfoValue");
  bind(lib.get_solution, "Highs_getSolution");
  bind(lib.callback_item, "Highs_getCallbackDataOutItem");
  return lib;
}

const Library& TheLibrary() {
  static const Library library = Load();
  return library;
}

// What the solver's callbacks share with the thread that waits.
struct Watch {
  MipLimits limits;
  std::atomic<double> bound = -kInfinity;  // proven so far
};

// The item `name` of type T among what a callback is told, or null.
template <typename T>
const T* Item(const HighsCallbackDataOut* out, const char* name) {
  return static_cast<const T*>(TheLibrary().callback_item(out, name));
}

// Called by the solver now and then.
void OnCallback(int type, const char*, const HighsCallbackDataOut* out,
                HighsCallbackDataIn* in, void* context) {
  Watch& watch = *static_cast<Watch*>(context);
  const MipLimits& limits = watch.limits;
  bool stop = limits.interrupt != nullptr && limits.interrupt->load();
  if (limits.deadline) {
    stop |= std::chrono::steady_clock::now() >= *limits.deadline;
  }
  if (type == kHighsCallbackMipInterrupt) {
    const auto* const bound =
        Item<double>(out, kHighsCallbackDataOutMipDualBoundName);
    if (bound != nullptr && std::isfinite(*bound)) watch.bound = *bound;
    const auto* const done =
        Item<int64_t>(out, kHighsCallbackDataOutMipTotalLpIterationsName);
    if (limits.iterations && done != nullptr && *done > 0) {
      stop |= static_cast<uint64_t>(*done) >= *limits.iterations;
    }
  }
  in->user_interrupt = stop;
}

void SetOptions(const Library& lib, void* highs, const MipLimits& limits) {
  lib.set_bool(highs, "output_flag", 0);
  lib.set_int(highs, "threads", 1);
  lib.set_string(highs, "parallel", "off");
  lib.set_int(highs, "random_seed", static_cast<int>(limits.seed % 1'000'000));
  lib.set_double(highs, "mip_rel_gap", 0);
  lib.set_double(highs, "mip_abs_gap", 1e-9);
  if (limits.deadline) {
    const double left = std::chrono::duration<double>(
                            *limits.deadline - std::chrono::steady_clock::now())
                            .count();
    lib.set_double(highs, "time_limit", std::max(0.01, left));
  }
}

MipOutcome RunSolver(const MipModel& model, std::span<const double> start,
                     Watch* watch) {
  const Library& lib = TheLibrary();
  const std::unique_ptr<void, decltype(lib.destroy)> highs(lib.create(),
                                                           lib.destroy);
  MipOutcome out;
  out.bound = -kInfinity;
  SetOptions(lib, highs.get(), watch->limits);
  lib.set_callback(highs.get(), OnCallback, watch);
  lib.start_callback(highs.get(), kHighsCallbackMipInterrupt);
  lib.start_callback(highs.get(), kHighsCallbackSimplexInterrupt);
  const HighsInt passed = lib.pass_mip(
      highs.get(), model.num_columns(),
      static_cast<int>(model.row_lower.size()),
      static_cast<int>(model.index.size()), kHighsMatrixFormatRowwise,
      kHighsObjSenseMinimize, 0, model.column_cost.data(),
      model.column_lower.data(), model.column_upper.data(),
      model.row_lower.data(), model.row_upper.data(), model.row_start.data(),
      model.index.data(), model.value.data(), model.column_integer.data());
  if (passed == kHighsStatusError) return out;
  if (!start.empty()) {
    lib.set_solution(highs.get(), start.data(), nullptr, nullptr, nullptr);
  }
  if (lib.run(highs.get()) == kHighsStatusError) return out;

  const HighsInt status = lib.model_status(highs.get());
  out.infeasible = status == kHighsModelStatusInfeasible;
  HighsInt primal = 0, iterations = 0;
  lib.int_info(highs.get(), "primal_solution_status", &primal);
  lib.int_info(highs.get(), "simplex_iteration_count", &iterations);
  out.iterations = static_cast<uint64_t>(std::max<HighsInt>(0, iterations));
  if (primal == kHighsSolutionStatusFeasible) {
    out.optimal = status == kHighsModelStatusOptimal;
    out.solution.resize(model.num_columns());
    std::vector<double> row_values(model.row_lower.size());
    lib.get_solution(highs.get(), out.solution.data(), nullptr,
                     row_values.data(), nullptr);
  }
  double bound = -kInfinity;
  lib.double_info(highs.get(), "mip_dual_bound", &bound);
  if (std::isfinite(bound)) out.bound = bound;
  return out;
}

// One call of the solver on a thread of its own, which outlives a caller that
// does not wait for it.
struct Call {
  MipModel model;
  std::vector<double> start;
  Watch watch;
  std::atomic<bool> interrupted = false;
  std::mutex mutex;
  std::condition_variable finished;
  std::optional<MipOutcome> outcome;  // guarded by mutex
};

// Threads whose callers left. The program must not end under them.
class Stragglers {
 public:
  ~Stragglers() {
    for (std::thread& thread : threads_) thread.join();
  }
  void Add(std::thread thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }
  std::atomic<int> running = 0;

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

Stragglers& TheStragglers() {
  static Stragglers stragglers;
  return stragglers;
}

}  // namespace

int MipModel::AddColumn(double cost, double lower, double upper, bool integer) {
  column_cost.push_back(cost);
  column_lower.push_back(lower);
  column_upper.push_back(upper);
  column_integer.push_back(integer ? 1 : 0);
  return num_columns() - 1;
}

void MipModel::AddRow(double lower, double upper, std::span<const Term> terms) {
  row_lower.push_back(lower);
  row_upper.push_back(upper);
  row_start.push_back(static_cast<int>(index.size()));
  for (const Term& term : terms) {
    index.push_back(term.column);
    value.push_back(term.factor);
  }
}

bool MipStillRunning() { return TheStragglers().running > 0; }

bool MipAvailable() { return TheLibrary().loaded; }

MipOutcome SolveMip(MipModel model, std::vector<double> start,
                    const MipLimits& limits) {
  if (!limits.deadline) {
    Watch watch;
    watch.limits = limits;
    return RunSolver(model, start, &watch);
  }
  const auto call = std::make_shared<Call>();
  call->model = std::move(model);
  call->start = std::move(start);
  call->watch.limits = limits;
  call->watch.limits.interrupt = &call->interrupted;
  std::atomic<int>& running = TheStragglers().running;
  ++running;
  std::thread thread(InThread([call, &running] {
    MipOutcome outcome = RunSolver(call->model, call->start, &call->watch);
    --running;
    const std::lock_guard lock(call->mutex);
    call->outcome = std::move(outcome);
    call->finished.notify_one();
  }));
  std::unique_lock lock(call->mutex);
  const auto latest = *limits.deadline + kGrace;
  while (!call->outcome && std::chrono::steady_clock::now() < latest) {
    call->finished.wait_for(lock, kPoll);
    if (limits.interrupt != nullptr && limits.interrupt->load()) {
      call->interrupted = true;
    }
  }
  if (call->outcome) {
    lock.unlock();
    thread.join();
    return *std::move(call->outcome);
  }
  call->interrupted = true;
  lock.unlock();
  TheStragglers().Add(std::move(thread));
  MipOutcome out;
  out.bound = call->watch.bound;
  return out;
}

}  // namespace encore::opt::extract
