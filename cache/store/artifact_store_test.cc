#include "encore/cache/store/artifact_store.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/testing/flip_bits.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernel = backends::kKernelKind;

class ArtifactStoreTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  // As another process would open it.
  DiskArtifactStore Open() const {
    return DiskArtifactStore(*DiskStore::Open({.folder = folder_}));
  }
  static std::vector<std::byte> Code(size_t size, int salt) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<std::byte>(i * 31 + salt);
    }
    return bytes;
  }

  const std::string folder_ = testing::TempDir() + "/artifacts";
};

TEST_F(ArtifactStoreTest, AKernelIsFoundAgainByKindAndKey) {
  const std::string key("region\0of two words, avx2", 25);
  EXPECT_EQ(Open().Get(kKernel, key), std::nullopt);
  Open().Put(kKernel, key, Code(5000, 1));
  EXPECT_EQ(Open().Get(kKernel, key), Code(5000, 1));
  // Neither another kind's nor another key's, and not by how both are joined.
  EXPECT_EQ(Open().Get("cpu/plan", key), std::nullopt);
  EXPECT_EQ(Open().Get(kKernel, key + "512"), std::nullopt);
  EXPECT_EQ(Open().Get(kKernel, std::string_view(key).substr(1)), std::nullopt);
  EXPECT_EQ(Open().Get("kerne", "l" + key), std::nullopt);
  EXPECT_EQ(Open().Get("", std::string(kKernel) + key), std::nullopt);
}

TEST_F(ArtifactStoreTest, KernelsLieBesideEachOtherAndCanBeEmpty) {
  Open().Put(kKernel, "a", Code(10, 1));
  Open().Put(kKernel, "b", {});
  Open().Put("cpu/plan", "a", Code(10, 2));
  EXPECT_EQ(Open().Get(kKernel, "a"), Code(10, 1));
  EXPECT_EQ(Open().Get(kKernel, "b"), std::vector<std::byte>());
  EXPECT_EQ(Open().Get("cpu/plan", "a"), Code(10, 2));
  Open().Put(kKernel, "a", Code(20, 3));
  EXPECT_EQ(Open().Get(kKernel, "a"), Code(20, 3));
}

// Whatever byte is another one: never other code, and another Put heals it.
TEST_F(ArtifactStoreTest, DamagedKernelsAreNotThere) {
  const std::vector<std::byte> code = Code(300, 4);
  Open().Put(kKernel, "a", code);
  const auto entries = (*DiskStore::Open({.folder = folder_}))->List();
  ASSERT_EQ(entries.size(), 1u);
  const std::string path = entries[0].path;
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  in.close();
  const auto write = [&](const std::string& bytes) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  };
  int refused = 0;
  for (size_t at = 0; at < good.size(); at += 37) {
    write(WithFlippedBit(good, at * 8));
    const auto found = Open().Get(kKernel, "a");
    if (found.has_value()) EXPECT_EQ(*found, code) << at;
    refused += found.has_value() ? 0 : 1;
  }
  EXPECT_GT(refused, 5);
  write(good.substr(0, good.size() / 2));
  EXPECT_EQ(Open().Get(kKernel, "a"), std::nullopt);
  Open().Put(kKernel, "a", code);
  EXPECT_EQ(Open().Get(kKernel, "a"), code);
}

// What a power cut may have left of a kernel is no news; of a measurement,
// which was synced, it is.
TEST_F(ArtifactStoreTest, DamageOfWhatWasOnlyWrittenGoesWithoutAWord) {
  const std::vector<std::byte> bytes = Code(300, 4);
  for (const std::string_view kind : {kKernel, std::string_view("cpu/plan")}) {
    const bool is_kernel = kind == kKernel;
    for (const bool of_head : {false, true}) {
      fs::remove_all(folder_);
      std::string log;
      const auto disk = *DiskStore::Open(
          {.folder = folder_,
           .log = [&](std::string_view line) { log += line; }});
      DiskArtifactStore store(disk);
      store.Put(kind, "a", bytes);
      const std::string path = disk->List().at(0).path;
      const auto size = fs::file_size(path);
      FlipBitOfFile(path, of_head ? 20 * 8 : (size - 1) * 8);
      EXPECT_EQ(store.Get(kind, "a"), std::nullopt);
      EXPECT_FALSE(fs::exists(path));
      EXPECT_EQ(disk->Bad().size(), is_kernel ? 0u : 1u);
      EXPECT_EQ(log.empty(), is_kernel) << log;
    }
  }
}

}  // namespace
}  // namespace encore::cache
