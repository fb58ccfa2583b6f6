// forge_package GENUINE OTHER FORGED: writes a package that says it is GENUINE,
// graph, names and weights, with the plan, code and derived data of OTHER: what
// somebody would hand out who wants other code to run.

#include <cstdio>

#include "encore/cache/package/package.h"
#include "encore/ir/support/status.h"

int main(int argc, char** argv) {
  using encore::cache::ReadPackage;
  if (argc != 4) return 2;
  auto forged = ReadPackage(argv[1]);
  auto other = ReadPackage(argv[2]);
  if (!forged.ok() || !other.ok()) return 2;
  forged->graph = other->graph;
  forged->derived = other->derived;
  const encore::Status written = WritePackage(*forged, argv[3]);
  if (written.ok()) return 0;
  std::fprintf(stderr, "forge_package: %s\n", encore::Message(written).c_str());
  return 2;
}
