// Writes the seeds of the fuzz targets for graphs in their forms: text,
// stencils, protocol-buffer messages.
//
//   bazel run //ir/testing:make_seeds -- ROOT
//
// ROOT is the repository; what is in it is replaced, inputs that once found
// something (found-*) stay.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "encore/ir/graph/stencil.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/seeds.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kRandomGraphs = 6;

struct AllSeeds {
  explicit AllSeeds(const fs::path& root)
      : texts(root / "ir/text/testdata/parser_fuzz"),
        messages(root / "ir/proto/testdata/graph_proto_fuzz") {}

  void Add(const std::string& name, const Graph& graph) const {
    texts.Add(name, Print(graph));
    texts.Add(name + "-stencil", MakeStencil(graph).bytes);
    const auto message = ToProto(graph);
    ENCORE_CHECK_OK(message.status());
    messages.Add(name, *message);
  }

  Seeds texts, messages;
};

int Main(const fs::path& root) {
  const AllSeeds seeds(root);
  for (const char* name : {"attributes", "bodies", "constants", "mlp"}) {
    std::ifstream file(root / "ir/text/testdata" / StrCat(name, ".txt"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    seeds.Add(name, ParsedGraph(text));
  }
  for (uint32_t seed = 0; seed < kRandomGraphs; ++seed) {
    RandomGraphOptions options;
    options.nodes = 3;
    options.symbolic = seed % 2 == 0;
    options.max_elements = 12;
    seeds.Add(StrCat("random-", seed), RandomGraph(seed, options));
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace encore

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " ROOT\n";
    return EXIT_FAILURE;
  }
  return encore::Main(argv[1]);
}
