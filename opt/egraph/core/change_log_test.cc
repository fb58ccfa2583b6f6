#include "encore/opt/egraph/core/change_log.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/page_pool.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

using Entry = std::pair<uint32_t, uint32_t>;  // stamp, node

// All that it holds in the range, read in pieces of `piece`.
std::vector<uint32_t> Read(const ChangeLog& log, const std::vector<Entry>& live,
                           uint32_t from, uint32_t to, size_t piece) {
  const auto keep = [&](uint32_t n, uint32_t stamp) {
    return std::ranges::find(live, Entry(stamp, n)) != live.end();
  };
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> out(piece);
  ChangeLog::Cursor cursor;
  size_t count;
  do {
    count = log.Next(from, to, &cursor, out, keep, [](uint32_t) {});
    nodes.insert(nodes.end(), out.begin(), out.begin() + count);
  } while (count == piece);
  return nodes;
}

// Random runs and changes, beside a plain list.
TEST(ChangeLogTest, HoldsWhatAListHolds) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    PagePool pool;
    ChangeLog log(&pool);
    std::vector<Entry> live;
    uint32_t next = 0;
    uint32_t stamp = 1;
    size_t logged = 0;
    for (int step = 0; step < 40; ++step) {
      stamp += random() % 3 == 0;
      if (random() % 2 == 0 && next > 0) {
        const uint32_t n = random() % next;
        const auto is_n = [&](const Entry& e) { return e.second == n; };
        const auto found = std::ranges::find_if(live, is_n);
        if (found == live.end() || found->first == stamp) continue;
        live.erase(found);
        log.AddStale();
        log.Add(stamp, n);
        live.push_back({stamp, n});
        ++logged;
      } else {
        next += random() % 3;  // of other operators
        const uint32_t count = 1 + random() % 5;
        log.Add(stamp, next, count);
        for (uint32_t i = 0; i < count; ++i) live.push_back({stamp, next++});
        logged += count;
      }
      if (random() % 16 == 0) {
        log.Compact([&](uint32_t n, uint32_t at) {
          return std::ranges::find(live, Entry(at, n)) != live.end();
        });
        logged = live.size();
        EXPECT_EQ(log.Count(0, ChangeLog::kNone), logged);
      }
    }
    const uint32_t from = random() % (stamp + 1);
    const uint32_t to = from + random() % 8;
    std::vector<uint32_t> expected;
    for (const auto& [at, n] : live) {
      if (at >= from && at < to) expected.push_back(n);
    }
    EXPECT_GE(log.Count(from, to), expected.size());
    const ChangeLog copy(log, nullptr);
    for (const size_t piece : {1, 3, 64}) {
      EXPECT_EQ(Read(copy, live, from, to, piece), expected);
    }
  }
}

TEST(ChangeLogTest, RebaseKeepsOrder) {
  ChangeLog log;
  for (uint32_t stamp = 1; stamp <= 8; ++stamp) log.Add(stamp, 10 * stamp, 2);
  log.Rebase(4);
  EXPECT_EQ(log.Count(0, 1), 8);
  EXPECT_EQ(log.Count(1, 3), 4);
  EXPECT_EQ(log.Count(4, 5), 2);
}

}  // namespace
}  // namespace encore::egraph
