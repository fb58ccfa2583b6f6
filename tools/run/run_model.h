// One model through the whole of Encore: imported, compiled or recalled,
// replayed, measured and checked.
#ifndef ENCORE_TOOLS_RUN_RUN_MODEL_H_
#define ENCORE_TOOLS_RUN_RUN_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/cache/session.h"
#include "encore/ir/literal.h"
#include "encore/ir/support/status.h"
#include "encore/tools/latency.h"
#include "encore/tools/run/compare.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

struct RunRequest {
  std::string model;
  GivenTensors given;
  std::map<std::string, int64_t> bindings;
  uint64_t seed = 1;
  double relative = 1e-3, absolute = 1e-5;
  // Replays that are measured; with `seconds` > 0 as many as fit into that
  // time.
  int64_t repeat = 1;
  double seconds = 0;
  int64_t warmup = 0;
};

struct OutputReport {
  std::string name;
  TensorType type;
  // Nothing where nothing was expected.
  std::optional<Difference> difference;
};

struct RunReport {
  std::string model, target;
  cache::FoundIn found_in = cache::FoundIn::kCompiled;
  double import_ms = 0, compile_ms = 0, load_ms = 0;
  int64_t runs = 0;
  std::optional<Latency> latency;
  int64_t steps = 0, kernels = 0, arena_bytes = 0, peak_rss_bytes = 0;
  std::vector<OutputReport> outputs;
  std::vector<Literal> values;

  // Whether every output that was expected is as expected.
  bool ok() const;
};

// Imports the request's model and runs it in `session`. With no replay asked
// for (repeat 0 and no seconds) it ends when the model is ready to be replayed.
// Errors say what is wrong with the model or the inputs.
StatusOr<RunReport> RunModel(const RunRequest& request,
                             cache::Session& session);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_RUN_MODEL_H_
