// One model compiled and written.
#ifndef ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_
#define ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "encore/cache/session/session.h"
#include "encore/ir/support/status.h"
#include "encore/tools/json_output.h"
#include "encore/tools/pass_report.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

// Text and proto are of a graph, or text of a plan.
enum class Emit { kText, kProto, kPackage, kRecording };

inline constexpr std::string_view kAfterImport = "import";
inline constexpr std::string_view kAfterOptimize = "optimize";
inline constexpr std::string_view kAfterLower = "lower";

struct CompileRequest {
  std::string model, output;
  // Where to stop: kAfterImport, a pass of opt/passes/pipeline.h,
  // kAfterOptimize (the last pass), kAfterLower (the compiled graph without
  // weights); empty: nowhere.
  std::string stop_after;
  Emit emit = Emit::kPackage;
  bool explain = false;
  // Print on standard error why each kernel ends where it ends; not where it
  // stops at a graph.
  bool explain_fusion = false;
  bool strict = false;  // ImportOptions'
  std::map<std::string, int64_t> bindings;
  // Inputs of a recording's call.
  GivenTensors given;
  uint64_t seed = 1;

  // Whether it stops where there is a graph, and no plan yet.
  bool stops_at_graph() const {
    return !stop_after.empty() && stop_after != kAfterLower;
  }
};

struct CompileReport {
  std::string model, output, stage, target;
  int64_t nodes = 0;
  double import_ms = 0;
  PassReport passes;
  // Of compiles; nothing where the request stopped before.
  std::optional<cache::FoundIn> found_in;
  std::string key;
  double compile_ms = 0;
  // Why it cannot be loaded here, where that is so: it is for another machine.
  std::optional<std::string> elsewhere;
  int64_t steps = 0, kernel_binaries = 0;
  // Why the cache had no entry, where that was asked and is known.
  std::optional<std::string> explanation;
  int64_t output_bytes = 0;
};

// Imports the request's model, compiles it in `session` as far as it asks for,
// and writes the output whole or not at all. Errors say what is wrong with the
// model, or that the output cannot be written.
// `report.passes` has what the flags ask of passes, the rest is filled in.
Status CompileModel(const CompileRequest& request, cache::Session& session,
                    CompileReport* report);

Json ToJson(const CompileReport& report);
// A few lines for a person.
std::string ToText(const CompileReport& report);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMPILE_COMPILE_MODEL_H_
