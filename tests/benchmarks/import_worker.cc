// Imports of a model, for tests/benchmarks/pairs.py: a process that stays and
// answers a line with a line, as model_worker.cc does.
//
//   import_worker MODEL …       other arguments are those of model_worker
//
//   (ready)     {}
//   time N      N imports: {"us":[…]}
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "encore/ir/graph/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// Microseconds of an import, the graph's end included.
StatusOr<double> Import(const std::string& model) {
  const auto begin = std::chrono::steady_clock::now();
  {
    ENCORE_ASSIGN_OR_RETURN(const Graph graph, ImportFile(model));
    if (graph.outputs().empty()) return InternalError("no outputs");
  }
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

Status Serve(const std::string& model) {
  ENCORE_RETURN_IF_ERROR(Import(model).status());
  std::cout << "{}" << std::endl;
  std::string verb;
  for (int count = 0; std::cin >> verb >> count;) {
    if (verb != "time") {
      return InvalidArgumentError(StrCat("no command ", Quote(verb)));
    }
    std::string times;
    for (int i = 0; i < count; ++i) {
      ENCORE_ASSIGN_OR_RETURN(const double time, Import(model));
      StrAppend(&times, i == 0 ? "" : ",", time);
    }
    std::cout << StrCat("{\"us\":[", times, "]}") << std::endl;
  }
  return OkStatus();
}

}  // namespace
}  // namespace encore

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: import_worker MODEL\n");
    return 2;
  }
  const encore::Status status = encore::Serve(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "import_worker: %s\n", encore::Message(status).c_str());
  return 1;
}
