#include "encore/opt/egraph/core/node_table.h"

#include <cstdint>
#include <map>
#include <random>

#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

// Ids with hashes of which few differ, so that searches are long, go round the
// end, and meet tags of others.
class TableAndModel {
 public:
  explicit TableAndModel(uint32_t seed) : random_(seed), table_(nullptr) {}

  void Step() {
    const uint32_t id = random_() % kIds;
    const auto known = hashes_.find(id);
    if (known == hashes_.end()) {
      Insert(id, RandomHash());
    } else if (random_() % 2 == 0) {
      table_.Erase(known->second, id);
      hashes_.erase(known);
    }
    ASSERT_EQ(table_.live(), hashes_.size());
    const uint64_t hash = RandomHash();
    size_t place = table_.slots().Probe(hash);
    const uint32_t found = table_.slots().Find(
        hash, &place, [&](uint32_t n) { return HasHash(n, hash); });
    ASSERT_EQ(found != NodeTable::kNone, AnyHas(hash));
    if (found == NodeTable::kNone) {
      ASSERT_EQ(table_.slots().IdAt(place), NodeTable::kNone);
    }
  }

  void ExpectAllFound() const {
    for (const auto& [id, hash] : hashes_) {
      size_t place = table_.slots().Probe(hash);
      EXPECT_EQ(table_.slots().Find(hash, &place,
                                    [&](uint32_t n) { return n == id; }),
                id);
    }
  }

 private:
  static constexpr uint32_t kIds = 300;

  uint64_t RandomHash() {
    return (random_() % 2 == 0 ? ~uint64_t{0} : uint64_t{0}) ^
           uint64_t { random_() % 8 } << 57 ^ uint64_t { random_() % 8 } << 29;
  }
  bool HasHash(uint32_t id, uint64_t hash) const {
    const auto known = hashes_.find(id);
    return known != hashes_.end() && known->second == hash;
  }
  bool AnyHas(uint64_t hash) const {
    for (const auto& [id, known] : hashes_) {
      if (known == hash) return true;
    }
    return false;
  }
  void Insert(uint32_t id, uint64_t hash) {
    if (table_.MustRefill(1, id)) {
      table_.Reset(table_.live() + 1, 0, kIds);
      for (const auto& [other, known] : hashes_) table_.Insert(known, other);
    }
    hashes_[id] = hash;
    table_.Insert(hash, id);
  }

  std::mt19937 random_;
  NodeTable table_;
  std::map<uint32_t, uint64_t> hashes_;  // by id
};

TEST(NodeTableTest, FindsWhatIsThereAndNothingElse) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    TableAndModel t(seed);
    for (int i = 0; i < 2000 && !testing::Test::HasFatalFailure(); ++i) {
      t.Step();
    }
    t.ExpectAllFound();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace encore::egraph
