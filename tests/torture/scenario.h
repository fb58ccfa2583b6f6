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
  // the backend.
  Scenario(std::string folder, std::string target);

  // Writes the model and its weights, and removes all else.
  void Reset() const;
  // Runs where another scenario of this folder keeps its model and store, with
  // a package of this one's own.
  void set_package(std::string name) { package_ = std::move(name); }

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

  // What is still there of writers that are gone, and of entries set aside.
  std::vector<std::string> Leftovers() const;

  std::string store() const { return folder_ + "/store"; }
  std::string model() const { return folder_ + "/m.onnx"; }
  std::string weights() const { return folder_ + "/weights.bin"; }
  std::string package() const { return folder_ + "/" + package_; }

 private:
  Outcome Go(bool with_package) const;
  void Check(const StatusOr<std::vector<Literal>>& outputs, Status* status,
             Outcome* outcome) const;
  Status RunPackage(const cache::SessionOptions& options,
                    Outcome* outcome) const;

  const std::string folder_, target_;
  std::string package_ = "m.encore";
  Literal x_, expected_;
  mutable runtime::ThreadPool threads_{1};
};

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_SCENARIO_H_
