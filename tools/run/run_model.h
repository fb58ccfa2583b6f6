// One model through the whole of Encore: imported, compiled or recalled,
// replayed, measured and checked.
#ifndef ENCORE_TOOLS_RUN_RUN_MODEL_H_
#define ENCORE_TOOLS_RUN_RUN_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/cache/session/session.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/tools/latency.h"
#include "encore/tools/pass_report.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

struct RunRequest {
  std::string model;  // a model or a package
  std::string name;   // in the report; empty: `model`
  // Inputs and expected outputs of each call, at least one. A recording's own
  // take the place of one call in which nothing is given.
  std::vector<GivenTensors> calls = {GivenTensors()};
  std::map<std::string, int64_t> bindings;
  bool strict = false;  // ImportOptions'
  uint64_t seed = 1;
  double relative = 1e-3, absolute = 1e-5;
  // Replays that are measured; with `seconds` > 0 as many as fit into that
  // time. They are of the first call.
  int64_t repeat = 1;
  double seconds = 0;
  int64_t warmup = 0;
  // Whether the code in a package may be run; else what its graph compiles to.
  bool trust = false;
  // Files to write, empty for none: a recording of all calls, and the trace of
  // a replay of the first, which is not one of those measured.
  std::string record, trace;
  // Print on standard error why each kernel ends where it ends.
  bool explain_fusion = false;
};

struct OutputReport {
  std::string name;
  TensorType type;
  // The worst of the calls; nothing where nothing was expected.
  std::optional<LiteralDifference> difference;
};

struct RunReport {
  std::string model, target;
  bool cached = true;  // whether the cache has anything to do with it
  cache::FoundIn found_in = cache::FoundIn::kCompiled;
  double import_ms = 0, compile_ms = 0, load_ms = 0;
  // Of a compile: what differs first from the nearest entry of the cache;
  // nothing where there is no other. The kernels and parts of prepared weights
  // that the cache had, and those that were made.
  std::optional<std::string> why;
  int64_t kernels_found = 0, kernels_made = 0;
  int64_t rewrites_found = 0, rewrites_made = 0;
  int64_t parts_found = 0, parts_made = 0;
  int64_t runs = 0;
  std::optional<Latency> latency;
  // What of it were passes; of none where the cache had what they lead to.
  PassReport passes;
  // Steps of a replay, and those of them that run a kernel on the host's
  // processor, and on another. Without the steps of bodies.
  int64_t steps = 0, host_kernels = 0, device_kernels = 0;
  int64_t arena_bytes = 0, peak_rss_bytes = 0;
  std::vector<OutputReport> outputs;
  std::vector<std::vector<Literal>> values;  // by call

  // Whether every output that was expected is as expected.
  bool ok() const;
};

// Runs the request's model in `session`. With no replay asked for (repeat 0 and
// no seconds) it ends when the model is ready to be replayed, and after what
// there is to record or trace. Errors say what is wrong with the model or the
// inputs.
StatusOr<RunReport> RunModel(const RunRequest& request,
                             cache::Session& session);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_RUN_MODEL_H_
