// Imports models, each in a process of its own, and says what became of it:
//   import_each FOLDER < OFFSETS
// FOLDER/models has the models' bytes, a line "offset size" of the standard
// input says where one is. Prints a line each: code of the status (-1: the
// process crashed or did not end), milliseconds, bytes of memory that were
// taken at most, message.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "encore/ir/graph/verifier.h"
#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/testing/child_process.h"

namespace encore::tests {
namespace {

// An import that hangs is ended.
constexpr int kMaxSeconds = 30;

Status Import(const std::string& bytes, const std::string& folder) {
  const auto owner = std::make_shared<const std::string>(bytes);
  ImportOptions options;
  options.strict = true;
  const auto graph =
      onnx::Import(std::as_bytes(std::span(*owner)), owner, {folder}, options);
  return graph.ok() ? Verify(*graph) : graph.status();
}

int64_t PeakBytes() {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

void ImportAndPrint(const std::string& bytes, const std::string& folder) {
  alarm(kMaxSeconds);
  const int64_t peak = PeakBytes();
  const auto begin = std::chrono::steady_clock::now();
  const Status status = Import(bytes, folder);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  std::string message = Message(status);
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::cout << static_cast<int>(status.code()) << '\t' << elapsed.count()
            << '\t' << PeakBytes() - peak << '\t' << message << std::endl;
}

int ImportEach(const std::string& folder) {
  const auto file = MappedFile::Open(folder + "/models");
  if (!file.ok()) {
    std::cerr << file.status() << '\n';
    return 2;
  }
  const auto* models = reinterpret_cast<const char*>((*file)->bytes().data());
  for (size_t offset, size; std::cin >> offset >> size;) {
    const int ended = WaitForChild(StartChild([&] {
      ImportAndPrint(std::string(models + offset, size), folder);
      return 0;
    }));
    if (ended != 0) {
      std::cout << "-1\t0\t0\tended with " << ended << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace encore::tests

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: import_each FOLDER\n";
    return 2;
  }
  return encore::tests::ImportEach(argv[1]);
}
