// Replays packages and recordings on a machine without a compiler: it has no
// graph, optimizer, importer, LLVM or protobuf in it.

#include "encore/tools/command.h"
#include "encore/tools/io/npy.h"
#include "encore/tools/replay/own_code.h"
#include "encore/tools/replay/replay_main.h"
#include "encore/tools/signals.h"

int main(int argc, char** argv) {
  encore::tools::CleanUpOnSignals();
  const int code = encore::tools::ReplayMain(
      argc, argv,
      {"replay_only", encore::tools::LoadOwnCode, encore::tools::ReadNpy});
  return encore::tools::ExitCodeOfOutput("replay_only", code);
}
