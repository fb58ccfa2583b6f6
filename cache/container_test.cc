#include "encore/cache/container.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

ContainerWriter Small() {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, "headline");
  writer.AddOwned(SectionType::kStencil, "");
  writer.AddOwned(SectionType::kWeights, std::string(70, 'w'), 128);
  writer.AddOwned(SectionType::kWeights, "second");
  return writer;
}

// What reading everything gives; the first error, if there is one.
Status ReadAll(std::string bytes) {
  const auto container = Container::FromBytes(std::move(bytes));
  return container.ok() ? (*container)->VerifyAll() : container.status();
}

TEST(Container, KeepsSectionsInOrder) {
  const auto container = Container::FromBytes(Small().ToBytes());
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ((*container)->sections().size(), 4u);
  EXPECT_EQ((*container)->Count(SectionType::kWeights), 2u);
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kHeadline)), "headline");
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kStencil)), "");
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kWeights, 1)), "second");
  EXPECT_EQ((*container)->Find(SectionType::kWeights)->offset % 128, 0u);
  EXPECT_EQ((*container)->Read(SectionType::kCode).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Small().size(), Small().ToBytes().size());
}

TEST(Container, EveryFlippedBitOfASmallOneIsDetected) {
  const std::string good = Small().ToBytes();
  ASSERT_TRUE(ReadAll(good).ok());
  for (size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] ^= 1 << i % 8;
    EXPECT_FALSE(ReadAll(bad).ok()) << "bit " << i;
  }
}

TEST(Container, EveryTruncationAndExtensionIsDetected) {
  const std::string good = Small().ToBytes();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadAll(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadAll(good + '\0').ok());
}

TEST(Container, RandomFlippedBitsOfALargeOneAreDetectedByTheirSection) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, "headline");
  writer.AddOwned(SectionType::kWeights, std::string(1 << 20, 'w'), 4096);
  const std::string good = writer.ToBytes();
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    std::string bad = good;
    const size_t bit = 4096 * 8 + random() % ((good.size() - 4096) * 8);
    bad[bit / 8] ^= 1 << bit % 8;
    const auto container = Container::FromBytes(bad);
    ASSERT_TRUE(container.ok());
    EXPECT_TRUE((*container)->Read(SectionType::kHeadline).ok());
    const Status status = (*container)->Read(SectionType::kWeights).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(Message(status),
              "container: section weights 0: checksum mismatch");
  }
}

TEST(Container, ImpossibleHeadsAreRefused) {
  EXPECT_FALSE(ReadAll("").ok());
  EXPECT_FALSE(ReadAll(std::string(64, '\xff')).ok());
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = Small().ToBytes().substr(0, 32);
    for (int j = 0; j < 40; ++j) bytes += static_cast<char>(random());
    EXPECT_FALSE(ReadAll(bytes).ok());
  }
}

class ContainerFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(dir_);
    ASSERT_TRUE(WriteFile(Small(), path_).ok());
  }
  const std::string dir_ = StrCat(testing::TempDir(), "/containers");
  const std::string path_ = dir_ + "/x.encore";
};

TEST_F(ContainerFile, IsMappedAndLeavesNoStagingFile) {
  const auto container = Container::Open(path_);
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_TRUE((*container)->VerifyAll().ok());
  EXPECT_EQ((*container)->file()->stamp(), *StampOf(path_));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 1);
}

TEST_F(ContainerFile, TruncationWhileInUseIsAnError) {
  const auto container = Container::Open(path_);
  ASSERT_TRUE(container.ok());
  ASSERT_EQ(truncate(path_.c_str(), 100), 0);
  EXPECT_EQ((*container)->Read(SectionType::kWeights).status().code(),
            StatusCode::kDataLoss);
}

TEST_F(ContainerFile, UnwritablePathsAndFullDisksAreErrors) {
  EXPECT_FALSE(WriteFile(Small(), dir_ + "/none/x.encore").ok());
  EXPECT_FALSE(Small()
                   .Write([](std::span<const std::byte>) {
                     return ResourceExhaustedError("disk full");
                   })
                   .ok());
  EXPECT_EQ(Container::Open(dir_ + "/none").status().code(),
            StatusCode::kNotFound);
  EXPECT_FALSE(Container::Open(dir_).ok());
}

}  // namespace
}  // namespace encore::cache
