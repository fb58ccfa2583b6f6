#include "encore/tools/ops/ops_command.h"

#include <string>
#include <vector>

#include "encore/tools/command.h"
#include "encore/tools/ops/op_reference.h"
#include "encore/tools/ops/op_table.h"
#include "encore/tools/terminal.h"

namespace encore::tools {

int OpsMain(int argc, char** argv) {
  CLI::App app(
      "Lists every operator: level, signature, dtypes, meaning, the backends "
      "that compile it and the ONNX operators that become it.",
      "encore ops");
  bool markdown = false, json = false;
  app.add_flag("--markdown", markdown,
               "the reference with attributes and opsets, as in ir/ops/OPS.md");
  app.add_flag("--json", json, "all of it as one JSON object")
      ->excludes("--markdown");
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  const std::vector<OpEntry> ops = MakeOpTable();
  const std::vector<OnnxEntry> onnx = MakeOnnxTable();
  const std::string text = markdown ? OpReferenceMarkdown(ops, onnx)
                           : json   ? OpReferenceJson(ops, onnx)
                                    : OpReferenceText(ops);
  Print(text);
  return kExitOk;
}

}  // namespace encore::tools
