#include "encore/tools/commands.h"

#include "encore/tools/cache/cache_command.h"
#include "encore/tools/compile/compile_command.h"
#include "encore/tools/ops/ops_command.h"
#include "encore/tools/opt/egraph_command.h"
#include "encore/tools/opt/extract_command.h"
#include "encore/tools/opt/opt_command.h"
#include "encore/tools/replay/replay_command.h"
#include "encore/tools/rules/rules_command.h"
#include "encore/tools/run/run_command.h"
#include "encore/tools/tune/tune_command.h"

namespace encore::tools {

std::span<const Command> Commands() {
  // A verb is one line here and a folder with its name's group beside this
  // file.
  static constexpr Command kCommands[] = {
      {"run", "compile or recall models, replay, check, report", RunMain},
      {"compile", "a model as a package, recording or text", CompileMain},
      {"opt", "run the compiler's passes on a graph", OptMain},
      {"replay", "look into, check and replay packages and recordings",
       ReplayCommandMain},
      {"tune", "measure this machine", TuneMain},
      {"cache", "look into, check and empty the cache", CacheMain},
      {"egraph", "run rewrites, rules and checks on an e-graph", EgraphMain},
      {"rules", "list, check and find rewrite rules", RulesMain},
      {"ops", "list every operator", OpsMain},
      {"extract", "choose the cheapest DAG from e-graphs", ExtractMain},
  };
  return kCommands;
}

}  // namespace encore::tools
