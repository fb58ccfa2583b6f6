// What tests of stores on disk have in common: a store in a folder of its own,
// entries of a text, and something that happens before a call of the system.
#ifndef ENCORE_CACHE_STORE_DISK_STORE_TEST_FIXTURE_H_
#define ENCORE_CACHE_STORE_DISK_STORE_TEST_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
#include "encore/ir/testing/faulty_system.h"
#include "gtest/gtest.h"

namespace encore::cache {

namespace fs = std::filesystem;

class DiskStoreTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override {
    std::error_code error;
    fs::permissions(folder_, fs::perms::owner_all, error);
  }

  std::shared_ptr<DiskStore> Open(uint64_t max_bytes = 1 << 20) {
    auto store =
        DiskStore::Open({folder_, max_bytes, [this](std::string_view line) {
                           log_.emplace_back(line);
                         }});
    EXPECT_TRUE(store.ok()) << store.status();
    return *store;
  }
  static ContainerWriter Writer(std::string text) {
    ContainerWriter writer;
    writer.AddOwned(SectionType::kText, std::move(text));
    return writer;
  }
  static std::string TextOf(const Container& container) {
    const auto bytes = container.Read(SectionType::kText);
    EXPECT_TRUE(bytes.ok());
    return std::string(reinterpret_cast<const char*>(bytes->data()),
                       bytes->size());
  }
  std::string PathOf(const DiskStore& store) { return store.List().at(0).path; }

  const std::string folder_ = StrCat(testing::TempDir(), "/store");
  const Digest key_ = Sha256Of("key");
  std::vector<std::string> log_;
};

// Does something before the first call of a kind.
class BeforeTheFirst final : public WatchedSystem {
 public:
  BeforeTheFirst(SystemCall call, std::function<void()> what)
      : call_(call), what_(std::move(what)) {}

 private:
  int Before(SystemCall call) override {
    if (call == call_ && !done_.exchange(true)) what_();
    return 0;
  }

  const SystemCall call_;
  const std::function<void()> what_;
  std::atomic<bool> done_ = false;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_DISK_STORE_TEST_FIXTURE_H_
