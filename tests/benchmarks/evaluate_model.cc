// How long the reference evaluator takes for a whole model.
//
//   evaluate_model FOLDER…
//
// A folder has model.onnx, inputs.npz and expected.npz, as zoo/make.py makes
// them. Prints seconds per model and the largest difference from what is
// expected, as a fraction of the output's largest value.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "encore/tools/run/inputs.h"
#include "encore/tools/run/model_source.h"

namespace encore::tools {
namespace {

// The largest difference of elements, and the largest of what is expected.
double RelativeError(const Literal& actual, const Literal& expected) {
  double error = 0, largest = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    error =
        std::max(error, std::fabs(actual.AsDouble(i) - expected.AsDouble(i)));
    largest = std::max(largest, std::fabs(expected.AsDouble(i)));
  }
  return largest > 0 ? error / largest : error;
}

Status Measure(const std::string& folder) {
  ENCORE_ASSIGN_OR_RETURN(
      const GivenTensors given,
      ReadGivenTensors({{folder + "/inputs.npz"}, "", folder + "/expected.npz"},
                       folder + "/model.onnx"));
  ENCORE_ASSIGN_OR_RETURN(const ModelSource source,
                          OpenModel(folder + "/model.onnx", {}, given));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> inputs,
                          MakeInputs(source.graph, given, 1));
  const std::clock_t cpu_begin = std::clock();
  const auto begin = std::chrono::steady_clock::now();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> outputs,
                          Evaluate(source.graph, inputs));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  const double cpu_seconds =
      static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  double error = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto expected = given.expected.find(source.graph.outputs()[i].name);
    if (expected == given.expected.end() ||
        outputs[i].type() != expected->second.type()) {
      return InvalidArgumentError(
          StrCat(folder, ": expected.npz does not fit the outputs"));
    }
    error = std::max(error, RelativeError(outputs[i], expected->second));
  }
  std::printf("%s: %.2f s, %.2f s of CPU, error %.1e\n", folder.c_str(),
              seconds, cpu_seconds, error);
  return OkStatus();
}

}  // namespace
}  // namespace encore::tools

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const encore::Status status = encore::tools::Measure(argv[i]);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", encore::Message(status).c_str());
    return 1;
  }
  return 0;
}
