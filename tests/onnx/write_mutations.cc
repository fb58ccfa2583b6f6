// Writes every mutation of a corpus into a folder, for judges and importers to
// read:
//   write_mutations OUT CORPUS...
// OUT/models has them one after another, OUT/index.json an object a line:
// offset, size, name, node, attribute, rule (see mutations.h).
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/mutations.h"
#include "nlohmann/json.hpp"

namespace encore::tests {
namespace {

int Write(const std::string& folder, const std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  const std::vector<Sample> corpus = ReadCorpus(roots);
  fs::create_directories(folder);
  std::ofstream(folder + "/weights.bin") << "twelve bytes";
  std::ofstream(fs::path(folder).parent_path() / "weights.bin")
      << "twelve bytes";
  fs::create_symlink("../weights.bin", folder + "/file_link");
  fs::create_symlink("/etc", folder + "/folder_link");
  fs::create_symlink("/dev/zero", folder + "/device_link");
  std::ofstream index(folder + "/index.json");
  std::ofstream models(folder + "/models", std::ios::binary);
  std::set<std::string> seen;
  size_t offset = 0;
  const Sink sink = [&](Mutation mutation) {
    if (!seen.insert(mutation.bytes).second) return;
    models << mutation.bytes;
    index << nlohmann::json{{"offset", offset},
                            {"size", mutation.bytes.size()},
                            {"name", mutation.name},
                            {"node", mutation.node},
                            {"attribute", mutation.attribute},
                            {"rule", mutation.rule}}
                 .dump()
          << '\n';
    offset += mutation.bytes.size();
  };
  // So that a mutation that changes nothing is none.
  for (const Sample& sample : corpus) {
    seen.insert(sample.model.SerializeAsString());
  }
  MutateNodes(corpus, sink);
  MutateModels(corpus, sink);
  return index.good() && models.good() ? 0 : 1;
}

}  // namespace
}  // namespace encore::tests

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: write_mutations OUT CORPUS...\n";
    return 2;
  }
  return encore::tests::Write(argv[1], {argv + 2, argv + argc});
}
