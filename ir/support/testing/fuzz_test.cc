// The tests of a fuzz target, without libFuzzer: `PROGRAM MUTANTS FILE…` runs
// each file, and then so many mutants of them, always the same: made by the
// target's own mutator, where it has one, in chains of a few, and by crossing
// two. A broken promise ends the program.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/testing/byte_mutations.h"
#include "gtest/gtest.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                     size_t max_size,
                                                     unsigned int seed);
__attribute__((weak)) size_t LLVMFuzzerCustomCrossOver(
    const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
    uint8_t* out, size_t max_size, unsigned int seed);
}

namespace encore {
namespace {

constexpr size_t kMostBytes = size_t{1} << 16;
constexpr int kMostGenerations = 5;

int mutants = 0;
std::vector<std::string> corpus;

const uint8_t* DataOf(const std::string& bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

// Where ENCORE_FUZZ_LAST names a file, it has the input of the run that ended
// the program.
void RunOne(const std::string& bytes) {
  static const char* const last = std::getenv("ENCORE_FUZZ_LAST");
  if (last != nullptr) {
    std::ofstream file(last, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  LLVMFuzzerTestOneInput(DataOf(bytes), bytes.size());
}

std::string Mutate(std::string bytes, std::mt19937& random) {
  const size_t most = std::max(kMostBytes, bytes.size());
  if (LLVMFuzzerCustomMutator == nullptr) {
    MutateBytes(&bytes, most, random);
    return bytes;
  }
  const size_t size = bytes.size();
  bytes.resize(most);
  bytes.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(bytes.data()),
                                       size, most, random()));
  return bytes;
}

std::string Cross(const std::string& a, const std::string& b,
                  std::mt19937& random) {
  const size_t most = std::max({kMostBytes, a.size(), b.size()});
  if (LLVMFuzzerCustomCrossOver == nullptr) {
    return CrossBytes(a, b, most, random);
  }
  std::string both(most, '\0');
  both.resize(LLVMFuzzerCustomCrossOver(
      DataOf(a), a.size(), DataOf(b), b.size(),
      reinterpret_cast<uint8_t*>(both.data()), most, random()));
  return both;
}

TEST(Fuzz, EachFileOfTheCorpus) {
  ASSERT_FALSE(corpus.empty());
  for (const std::string& bytes : corpus) RunOne(bytes);
  RunOne("");
}

TEST(Fuzz, Mutants) {
  std::mt19937 random(1);
  for (int left = mutants; left > 0;) {
    std::string bytes = corpus[random() % corpus.size()];
    if (random() % 8 == 0) {
      bytes = Cross(bytes, corpus[random() % corpus.size()], random);
    }
    const auto generations = static_cast<int>(random() % kMostGenerations) + 1;
    for (int i = 0; i < generations && left > 0; ++i, --left) {
      bytes = Mutate(std::move(bytes), random);
      RunOne(bytes);
    }
  }
}

}  // namespace
}  // namespace encore

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " MUTANTS FILE...\n";
    return EXIT_FAILURE;
  }
  encore::mutants = std::atoi(argv[1]);
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    encore::corpus.emplace_back(std::istreambuf_iterator<char>(file),
                                std::istreambuf_iterator<char>());
    if (!file.good() && !file.eof()) {
      std::cerr << argv[i] << ": cannot be read\n";
      return EXIT_FAILURE;
    }
  }
  return RUN_ALL_TESTS();
}
