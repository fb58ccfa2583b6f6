// One model compiled and written.
#ifndef ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_
#define ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "encore/cache/session/session.h"
#include "encore/ir/support/status.h"
#include "encore/tools/json_output.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

enum class Stage { kImport, kOptimize, kLower, kAll };
// Text and proto are of a graph, or text of a plan.
enum class Emit { kText, kProto, kPackage, kRecording };

struct CompileRequest {
  std::string model, output;
  Stage stop_after = Stage::kAll;
  Emit emit = Emit::kPackage;
  bool explain = false;
  std::map<std::string, int64_t> bindings;
  // Inputs of a recording's call.
  GivenTensors given;
  uint64_t seed = 1;
};

struct CompileReport {
  std::string model, output, stage, target;
  int64_t nodes = 0;
  double import_ms = 0;
  // Of compiles; nothing where the request stopped before.
  std::optional<cache::FoundIn> found_in;
  std::string key;
  double compile_ms = 0;
  int64_t steps = 0, programs = 0;
  // Why the cache had no entry, where that was asked and is known.
  std::optional<std::string> explanation;
  int64_t output_bytes = 0;
};

// Imports the request's model, compiles it in `session` as far as it asks for,
// and writes the output whole or not at all. Errors say what is wrong with the
// model, or that the output cannot be written.
StatusOr<CompileReport> CompileModel(const CompileRequest& request,
                                     cache::Session& session);

Json ToJson(const CompileReport& report);
// A few lines for a person.
std::string ToText(const CompileReport& report);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_
