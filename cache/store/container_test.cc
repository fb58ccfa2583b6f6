#include "encore/cache/store/container.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "encore/cache/store/container_format.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/ir/support/bytes.h"
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
  const auto container = Container::FromBytes(*Small().ToBytes());
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ((*container)->sections().size(), 4u);
  EXPECT_EQ((*container)->Count(SectionType::kWeights), 2u);
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kHeadline)), "headline");
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kStencil)), "");
  EXPECT_EQ(Text(*(*container)->Read(SectionType::kWeights, 1)), "second");
  EXPECT_EQ((*container)->Find(SectionType::kWeights)->offset % 128, 0u);
  EXPECT_EQ((*container)->Read(SectionType::kCode).status().code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(Small().size(), Small().ToBytes()->size());
}

TEST(Container, EveryFlippedBitOfASmallOneIsDetected) {
  const std::string good = *Small().ToBytes();
  ASSERT_TRUE(ReadAll(good).ok());
  for (size_t i = 0; i < good.size() * 8; ++i) {
    EXPECT_FALSE(ReadAll(WithFlippedBit(good, i)).ok()) << "bit " << i;
  }
}

TEST(Container, EveryTruncationAndExtensionIsDetected) {
  const std::string good = *Small().ToBytes();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadAll(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadAll(good + '\0').ok());
}

TEST(Container, RandomFlippedBitsOfALargeOneAreDetectedByTheirSection) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, "headline");
  writer.AddOwned(SectionType::kWeights, std::string(1 << 20, 'w'), 4096);
  const std::string good = *writer.ToBytes();
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    const size_t bit = 4096 * 8 + random() % ((good.size() - 4096) * 8);
    const auto container = Container::FromBytes(WithFlippedBit(good, bit));
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
    std::string bytes = Small().ToBytes()->substr(0, 32);
    for (int j = 0; j < 40; ++j) bytes += static_cast<char>(random());
    EXPECT_FALSE(ReadAll(bytes).ok());
  }
}

// `count` sections by turns of two types, which say their place.
ContainerWriter Many(size_t count) {
  ContainerWriter writer;
  for (size_t i = 0; i < count; ++i) {
    writer.AddOwned(i % 2 == 0 ? SectionType::kWeights : SectionType::kDerived,
                    std::to_string(i));
  }
  return writer;
}

// A search from the start for each of them would take minutes.
TEST(Container, HoldsAsManySectionsAsThereAre) {
  constexpr size_t kCount = 400'000;
  const auto bytes = Many(kCount).ToBytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto container = Container::FromBytes(*bytes);
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ((*container)->version(), 2u);
  EXPECT_EQ((*container)->sections().size(), kCount);
  EXPECT_EQ((*container)->Count(SectionType::kWeights), kCount / 2);
  EXPECT_EQ((*container)->Count(SectionType::kCode), 0u);
  for (size_t i = 0; i < kCount; ++i) {
    const auto read =
        (*container)
            ->Read(i % 2 == 0 ? SectionType::kWeights : SectionType::kDerived,
                   i / 2);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(Text(*read), std::to_string(i));
  }
  EXPECT_EQ((*container)->Find(SectionType::kWeights, kCount / 2), nullptr);
  EXPECT_TRUE((*container)->VerifyAll().ok());
}

TEST(Container, TheVersionIsTheOldestThatHoldsTheSections) {
  using container_format::kMostOfVersion1;
  for (const size_t count : {kMostOfVersion1, kMostOfVersion1 + 1}) {
    const auto container = Container::FromBytes(*Many(count).ToBytes());
    ASSERT_TRUE(container.ok()) << container.status();
    EXPECT_EQ((*container)->version(), count > kMostOfVersion1 ? 2u : 1u);
  }
}

TEST(Container, EmptySectionsMayLieInOnePlace) {
  constexpr size_t kCount = 60'000;
  ContainerWriter writer;
  for (size_t i = 0; i < kCount; ++i) writer.Add(SectionType::kWeights, {});
  const auto container = Container::FromBytes(*writer.ToBytes());
  ASSERT_TRUE(container.ok()) << container.status();
  for (size_t i = 0; i < kCount; ++i) {
    const Section* section = (*container)->Find(SectionType::kWeights, i);
    ASSERT_NE(section, nullptr);
    EXPECT_EQ(section->index, i);
    EXPECT_EQ(section->length, 0u);
  }
  EXPECT_EQ((*container)->Find(SectionType::kWeights, kCount), nullptr);
}

// A file of these header fields and nothing else, its checksum right.
std::string HeaderOf(uint64_t version, uint64_t sections) {
  using namespace container_format;  // NOLINT
  ByteWriter head;
  head.Raw(kMagic);
  head.Fixed64(version);
  head.Fixed64(sections);
  head.Fixed64(kHeaderSize);
  head.Raw(std::string(kHeaderSize - kChecksumAt, '\0'));
  std::string bytes = head.Take();
  bytes.replace(kChecksumAt, kChecksumSize,
                AsText(HeadChecksum(std::as_bytes(std::span(bytes)))));
  return bytes;
}

TEST(Container, ClaimedSectionsMustBeThere) {
  ASSERT_TRUE(ReadAll(HeaderOf(1, 0)).ok());
  for (const uint64_t version : {1, 2}) {
    for (const uint64_t count :
         {uint64_t{1}, uint64_t{1} << 16, uint64_t{1} << 40,
          // Times 40 it is 0, and 40, in 64 bits.
          uint64_t{1} << 61, (uint64_t{1} << 61) + 1,
          std::numeric_limits<uint64_t>::max()}) {
      EXPECT_EQ(ReadAll(HeaderOf(version, count)).code(), StatusCode::kDataLoss)
          << count;
    }
  }
}

TEST(Container, OtherVersionsAreToldFromDamage) {
  EXPECT_EQ(ReadAll(HeaderOf(3, 0)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadAll(HeaderOf(0, 0)).code(), StatusCode::kFailedPrecondition);
  // No program has written version 2 with few sections.
  EXPECT_EQ(ReadAll(HeaderOf(2, 0)).code(), StatusCode::kDataLoss);
}

// Sections over memory that is never touched.
TEST(Container, MoreThanAFileCanHoldIsAnError) {
  ContainerWriter writer;
  static constexpr std::byte kByte{};
  for (int i = 0; i < 5; ++i) {
    writer.Add(SectionType::kWeights, {&kByte, size_t{1} << 62});
  }
  EXPECT_EQ(writer.size(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(writer.ToBytes().status().code(), StatusCode::kResourceExhausted);
  const std::string path = StrCat(testing::TempDir(), "/large.encore");
  const Status status = WriteFile(writer, path);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status).find(path), 0u);
  EXPECT_FALSE(std::filesystem::exists(path));
}

class ContainerFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(dir_);
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
}

TEST_F(ContainerFile, ManySectionsAreWrittenInFewPieces) {
  ASSERT_TRUE(WriteFile(Many(100'000), path_).ok());
  const auto container = Container::Open(path_);
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_TRUE((*container)->VerifyAll().ok());
  EXPECT_EQ((*container)->size(), Many(100'000).size());
}

StatusCode CodeOfOpen(const std::string& path) {
  return Container::Open(path).status().code();
}

TEST_F(ContainerFile, WhatIsNotThereAndWhatCannotBeReadDiffer) {
  EXPECT_EQ(CodeOfOpen(dir_ + "/none"), StatusCode::kNotFound);
  EXPECT_EQ(CodeOfOpen(path_ + "/x"), StatusCode::kNotFound);
  EXPECT_EQ(CodeOfOpen(dir_), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOfOpen(dir_ + "/" + std::string(300, 'x')),
            StatusCode::kInvalidArgument);
  const std::string loop = dir_ + "/loop";
  std::filesystem::remove(loop);
  std::filesystem::create_symlink("loop", loop);
  EXPECT_EQ(CodeOfOpen(loop), StatusCode::kInvalidArgument);
  std::ofstream(dir_ + "/other") << std::string(100, 'x');
  EXPECT_EQ(CodeOfOpen(dir_ + "/other"), StatusCode::kDataLoss);
}

// Sets a limit of the process for as long as it is there.
class Limit {
 public:
  Limit(decltype(RLIMIT_AS) resource, rlim_t value) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource_, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = value;
    EXPECT_EQ(setrlimit(resource_, &limit), 0);
  }
  ~Limit() { EXPECT_EQ(setrlimit(resource_, &before_), 0); }

 private:
  // Its type is an enumeration of the C library's in C++.
  const decltype(RLIMIT_AS) resource_;
  rlimit before_;
};

TEST_F(ContainerFile, NoDescriptorLeftIsNotAMissingFile) {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  const Limit limit(RLIMIT_NOFILE, next);
  EXPECT_EQ(CodeOfOpen(path_), StatusCode::kResourceExhausted);
}

TEST_F(ContainerFile, NoAddressesLeftAreNotADamagedFile) {
  const std::string path = dir_ + "/sparse.encore";
  constexpr uint64_t kRoom = uint64_t{1} << 30;
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, 2 * kRoom);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const Limit limit(RLIMIT_AS,
                    pages * static_cast<uint64_t>(getpagesize()) + kRoom);
  EXPECT_EQ(CodeOfOpen(path), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace encore::cache
