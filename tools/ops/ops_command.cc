#include "encore/tools/ops/ops_command.h"

#include <cstdio>
#include <string>

#include "encore/ir/op.h"
#include "encore/ir/op_reference.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"

namespace encore::tools {

int OpsMain(int argc, char** argv) {
  CLI::App app("Lists every operator: level, signature, dtypes, meaning.",
               "encore ops");
  bool markdown = false;
  app.add_flag("--markdown", markdown,
               "the reference with attributes, as in ir/OPS.md");
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  if (markdown) {
    std::fputs(OpReferenceMarkdown().c_str(), stdout);
    return kExitOk;
  }
  for (const OpInfo& info : AllOps()) {
    std::printf(
        "%-20s %-9s  %s  T: %s\n    %s\n", std::string(info.mnemonic).c_str(),
        info.level == OpLevel::kPrimitive ? "primitive" : "composite",
        std::string(info.signature_text).c_str(),
        StrJoin(info.dtypes, " ").c_str(), std::string(info.summary).c_str());
  }
  return kExitOk;
}

}  // namespace encore::tools
