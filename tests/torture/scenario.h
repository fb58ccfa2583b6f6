// Scenario: a model's way through files, once from end to end: imported with
// external data, compiled or recalled, run, packed, loaded from the package and
// run again.
#ifndef ENCORE_TESTS_TORTURE_SCENARIO_H_
#define ENCORE_TESTS_TORTURE_SCENARIO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/session/session_options.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::torture {

class Scenario {
 public:
  // Keeps all that it writes in `folder`, which need not be there. `target`:
  // the backend. Runs on so many threads.
  Scenario(std::string folder, std::string target, int threads = 1);

  // Writes the model and its weights, and removes all else.
  void Reset() const;
  // Runs where another scenario of this folder keeps its model and store, with
  // a package of this one's own.
  void set_package(std::string name) { package_ = std::move(name); }
  // SessionOptions::write_behind; not set at first.
  void set_write_behind(bool behind) { write_behind_ = behind; }

  // What a step of the way says where it is not OK.
  struct Outcome {
    Status import, load, package;
    // Whether some output was not what it has to be, bit by bit.
    bool is_wrong = false;
    cache::SessionStatistics statistics;
    std::vector<std::string> log;

    bool ok() const {
      return import.ok() && load.ok() && package.ok() && !is_wrong;
    }
  };
  Outcome Run() const { return Go(true); }
  // The same without the package.
  Outcome Load() const { return Go(false); }

  // Runs while something fails: outputs are right, what is wrong with a store
  // is no error of a load, and other errors name a path of the folder or say
  // that code cannot run. What is not so; empty where all of it is.
  std::string RunWithFault() const;
  // Loads the package that a run left, and runs it; nothing else.
  Outcome LoadPackage() const;

  // Runs twice after something went wrong. The first run has to be right; the
  // second has to find all that it kept and to have nothing to say of it; then
  // nothing may be left behind. What is not so; empty where all of it is.
  std::string Heal() const;

  std::string store() const { return folder_ + "/store"; }
  std::string model() const { return folder_ + "/m.onnx"; }
  std::string weights() const { return folder_ + "/weights.bin"; }
  std::string package() const { return folder_ + "/" + package_; }

 private:
  Outcome Go(bool with_package) const;
  void Check(const StatusOr<std::vector<Literal>>& outputs, Status* status,
             Outcome* outcome) const;
  Status RunPackage(Outcome* outcome) const;

  const std::string folder_, target_;
  std::string package_ = "m.encore";
  bool write_behind_ = false;
  Literal x_, expected_;
  mutable runtime::ThreadPool threads_;
};

// What is still there, below a folder, of writers that are gone, and of entries
// set aside.
std::vector<std::string> LeftoversIn(const std::string& folder);

// Whether the system gave no memory that generated code can run in: the one
// error of its calls that is of no file.
bool CodeCannotRun(const Status& status);

// For messages.
std::string ToText(const Scenario::Outcome& outcome);

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_SCENARIO_H_
