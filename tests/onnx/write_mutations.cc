// Writes every mutation of a corpus into a folder, for judges and importers to
// read:
//   write_mutations OUT CORPUS...
// OUT/models has them one after another, OUT/index.json an object a line:
// offset and size, those of its base where it has one, name, node, attribute,
// value, field, rule, reached (see mutations.h).
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "encore/tests/onnx/corpus.h"
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
  fs::create_symlink("loop_link", folder + "/loop_link");
  fs::create_symlink("pipe", folder + "/pipe_link");
  if (mkfifo((folder + "/pipe").c_str(), 0600) != 0) return 1;
  std::ofstream index(folder + "/index.json");
  std::ofstream models(folder + "/models", std::ios::binary);
  std::set<std::string> seen;
  // Where bases are; each is written once.
  std::map<std::string, size_t> bases;
  size_t end = 0;
  const auto write = [&](const std::string& bytes) {
    models << bytes;
    return std::exchange(end, end + bytes.size());
  };
  const Sink sink = [&](Mutation mutation) {
    if (!mutation.base.empty()) seen.insert(mutation.base);
    if (!seen.insert(mutation.bytes).second) return;
    nlohmann::json row{{"offset", write(mutation.bytes)},
                       {"size", mutation.bytes.size()},
                       {"name", mutation.name},
                       {"node", mutation.fault.node},
                       {"attribute", mutation.fault.attribute},
                       {"value", mutation.fault.value},
                       {"field", mutation.fault.field},
                       {"rule", mutation.rule},
                       {"reached", mutation.reached}};
    if (!mutation.base.empty()) {
      if (!bases.contains(mutation.base)) {
        bases[mutation.base] = write(mutation.base);
      }
      row["base_offset"] = bases[mutation.base];
      row["base_size"] = mutation.base.size();
    }
    index << row.dump() << '\n';
  };
  // So that a mutation that changes nothing is none.
  for (const Sample& sample : corpus) {
    seen.insert(sample.model.SerializeAsString());
  }
  MutateNodes(corpus, sink);
  MutateModels(corpus, sink);
  MutateData(sink);
  MutateFunctions(sink);
  MutateSamples(corpus, sink);
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
