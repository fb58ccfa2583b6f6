#include "encore/tools/commands.h"

#include "encore/tools/ops/ops_command.h"
#include "encore/tools/opt/egraph_command.h"
#include "encore/tools/opt/extract_command.h"
#include "encore/tools/run/run_command.h"

namespace encore::tools {

std::span<const Command> Commands() {
  // A verb is one line here and a folder with its name's group beside this
  // file.
  static constexpr Command kCommands[] = {
      {"run", "compile or recall models, replay, check, report", RunMain},
      {"egraph", "run rewrites, rules and checks on an e-graph", EgraphMain},
      {"ops", "list every operator", OpsMain},
      {"extract", "choose the cheapest DAG from e-graphs", ExtractMain},
  };
  return kCommands;
}

}  // namespace encore::tools
