#include "encore/tools/replay/replay_command.h"

#include "encore/tools/io/tensor_file.h"
#include "encore/tools/replay/rebuild.h"
#include "encore/tools/replay/replay_main.h"

namespace encore::tools {

int ReplayCommandMain(int argc, char** argv) {
  return ReplayMain(argc, argv, {"encore replay", LoadOrRebuild, ReadTensor});
}

}  // namespace encore::tools
