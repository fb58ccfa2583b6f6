#include "encore/runtime/replay/wait_planner.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

namespace encore::runtime {
namespace {

// More operations than this that are waited for across blocks are too many to
// keep sets of: each block then starts without knowledge.
constexpr size_t kMostAcross = 4096;
// Work on taking waits out: waits times operations.
constexpr size_t kMostTrials = size_t{1} << 22;

constexpr uint32_t kNone = UINT32_MAX;

using Clock = std::vector<int64_t>;

// A set of operations that are waited for across blocks, by their index there.
class OpSet {
 public:
  explicit OpSet(size_t size = 0, bool full = false)
      : words_((size + 63) / 64, full ? ~uint64_t{0} : 0) {}

  bool Has(uint32_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void Insert(uint32_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void Remove(uint32_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  void Add(const OpSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  void Subtract(const OpSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
  }
  void Intersect(const OpSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  }
  bool operator==(const OpSet&) const = default;

 private:
  std::vector<uint64_t> words_;
};

// What is known where a block begins or ends.
struct Knowledge {
  std::vector<OpSet> lines;   // by queue, the host's first: what is done
  std::vector<OpSet> behind;  // by operation: what was done before it

  void Intersect(const Knowledge& other) {
    for (size_t i = 0; i < lines.size(); ++i)
      lines[i].Intersect(other.lines[i]);
    for (size_t i = 0; i < behind.size(); ++i) {
      behind[i].Intersect(other.behind[i]);
    }
  }
  bool operator==(const Knowledge&) const = default;
};

class WaitPlanner {
 public:
  explicit WaitPlanner(const WaitProblem& problem) : problem_(problem) {
    const size_t count = problem.queue.size();
    waits_.resize(count);
    block_of_.resize(count);
    across_of_.assign(count, kNone);
    for (uint32_t b = 0; b < problem.blocks.size(); ++b) {
      const WaitProblem::Block& block = problem.blocks[b];
      for (uint32_t i = block.begin; i < block.end; ++i) block_of_[i] = b;
    }
    for (uint32_t i = 0; i < count; ++i) {
      for (const uint32_t op : problem.conflicts[i]) {
        if (IsBefore(op, i) || across_of_[op] != kNone) continue;
        across_of_[op] = static_cast<uint32_t>(across_.size());
        across_.push_back(op);
      }
    }
    remembers_ = across_.size() <= kMostAcross;
    across_of_queue_.assign(problem.queues, OpSet(across_.size()));
    for (uint32_t x = 0; x < across_.size(); ++x) {
      across_of_queue_[problem.queue[across_[x]]].Insert(x);
    }
  }

  std::vector<std::vector<WaitFor>> Run() {
    FindLast();
    for (uint32_t b = 0; b < problem_.blocks.size(); ++b) {
      if (!Analyze()) entries_.assign(problem_.blocks.size(), Nothing(b == 0));
      Walk(b, /*add=*/true);
    }
    TakeOutImplied();
    return std::move(waits_);
  }

 private:
  // Of the walk through one block.
  struct Position {
    const Knowledge* entry = nullptr;
    uint32_t begin = 0;
    std::vector<Clock> clocks;  // by queue: 1 + position of what is done
    std::vector<OpSet> done;    // by queue: of before the block
    // By operation of the block in a queue: its queue's, when it is done.
    std::vector<Clock> clock_behind;
    std::vector<OpSet> done_behind;
    OpSet issued;  // operations of the block itself
  };

  // Whether `op` is in the same block, before `i`.
  bool IsBefore(uint32_t op, uint32_t i) const {
    return op < i && block_of_[op] == block_of_[i];
  }
  uint16_t QueueOf(uint32_t op) const { return problem_.queue[op]; }

  Knowledge Nothing(bool first) const {
    return {std::vector<OpSet>(problem_.queues, OpSet(across_.size(), first)),
            std::vector<OpSet>(remembers_ ? across_.size() : 0,
                               OpSet(across_.size(), first))};
  }

  // What is known where each block begins, under the waits so far; false where
  // that would be too much.
  bool Analyze() {
    if (!remembers_) return false;
    entries_.assign(problem_.blocks.size(), std::nullopt);
    entries_[0] = Nothing(/*first=*/true);
    std::deque<uint32_t> work = {0};
    while (!work.empty()) {
      const uint32_t b = work.front();
      work.pop_front();
      const Knowledge left = Walk(b, /*add=*/false);
      for (const uint32_t next : problem_.blocks[b].next) {
        std::optional<Knowledge>& entry = entries_[next];
        Knowledge both = entry.value_or(left);
        both.Intersect(left);
        if (entry == both) continue;
        entry = std::move(both);
        if (std::ranges::find(work, next) == work.end()) work.push_back(next);
      }
    }
    // What no path comes to.
    for (std::optional<Knowledge>& entry : entries_) {
      if (!entry) entry = Nothing(/*first=*/true);
    }
    return true;
  }

  // By block and queue the operations that may have come last into it before.
  void FindLast() {
    using Lists = std::vector<std::vector<uint32_t>>;
    last_.assign(problem_.blocks.size(), Lists(problem_.queues));
    std::deque<uint32_t> work;
    for (uint32_t b = 0; b < problem_.blocks.size(); ++b) work.push_back(b);
    while (!work.empty()) {
      const uint32_t b = work.front();
      work.pop_front();
      const WaitProblem::Block& block = problem_.blocks[b];
      Lists left = last_[b];
      for (uint32_t i = block.begin; i < block.end; ++i) left[QueueOf(i)] = {i};
      for (const uint32_t next : block.next) {
        bool grown = false;
        for (uint16_t queue = 1; queue < problem_.queues; ++queue) {
          std::vector<uint32_t>& known = last_[next][queue];
          std::vector<uint32_t> both;
          std::ranges::set_union(known, left[queue], std::back_inserter(both));
          grown |= both.size() > known.size();
          known = std::move(both);
        }
        if (grown) work.push_back(next);
      }
    }
  }

  // From what is known at the beginning of a block to what is known at its end.
  // Where something is not waited for, a wait is added, or all_known_ becomes
  // false.
  Knowledge Walk(uint32_t b, bool add) {
    const WaitProblem::Block& block = problem_.blocks[b];
    const uint32_t count = block.end - block.begin;
    Position at;
    at.entry = &*entries_[b];
    at.begin = block.begin;
    at.clocks.assign(problem_.queues, Clock(problem_.queues));
    at.done = at.entry->lines;
    at.clock_behind.resize(count);
    at.done_behind.resize(count);
    at.issued = OpSet(across_.size());
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const uint16_t queue = QueueOf(i);
      Learn(at, 0, queue);
      for (const WaitFor& wait : waits_[i]) Take(at, i, wait);
      Check(at, i, add);
      if (queue != 0) Issue(at, i);
    }
    return AtEnd(at, block);
  }

  // What the host knows is done when something is enqueued.
  static void Learn(Position& at, uint16_t from, uint16_t to) {
    if (from == to) return;
    Raise(&at.clocks[to], at.clocks[from]);
    at.done[to].Add(at.done[from]);
  }
  static void Raise(Clock* clock, const Clock& to) {
    for (size_t q = 0; q < to.size(); ++q) {
      (*clock)[q] = std::max((*clock)[q], to[q]);
    }
  }

  void Take(Position& at, uint32_t i, const WaitFor& wait) {
    const uint16_t line = wait.by_host ? 0 : QueueOf(i);
    if (IsBefore(wait.op, i)) {
      const uint32_t position = wait.op - at.begin;
      Raise(&at.clocks[line], at.clock_behind[position]);
      OpSet done = at.done_behind[position];
      done.Subtract(at.issued);
      at.done[line].Add(done);
    } else {
      const uint32_t across = across_of_[wait.op];
      if (remembers_) {
        OpSet done = at.entry->behind[across];
        done.Subtract(at.issued);
        at.done[line].Add(done);
      }
      at.done[line].Insert(across);
      TakeQueue(at, line, QueueOf(wait.op));
    }
    Learn(at, line, QueueOf(i));
  }

  // Where all that may have come last into a queue before the block is done,
  // everything in it is, whatever path was taken.
  void TakeQueue(Position& at, uint16_t line, uint16_t queue) {
    for (const uint32_t op : last_[block_of_[at.begin]][queue]) {
      const uint32_t across = across_of_[op];
      if (across == kNone || !at.done[line].Has(across)) return;
    }
    OpSet before = across_of_queue_[queue];
    before.Subtract(at.issued);
    at.done[line].Add(before);
  }

  bool IsKnown(const Position& at, uint32_t i, uint32_t op) const {
    const uint16_t mine = QueueOf(i), other = QueueOf(op);
    if (mine == other) return true;
    if (IsBefore(op, i)) return at.clocks[mine][other] > op - at.begin;
    return at.done[mine].Has(across_of_[op]);
  }

  void Check(Position& at, uint32_t i, bool add) {
    if (!add) {
      all_known_ &=
          std::ranges::all_of(problem_.conflicts[i],
                              [&](uint32_t op) { return IsKnown(at, i, op); });
      return;
    }
    // The latest first: it may come after the others.
    std::vector<uint32_t> conflicts = problem_.conflicts[i];
    std::ranges::sort(conflicts, [&](uint32_t a, uint32_t b) {
      return std::pair(IsBefore(a, i), a) > std::pair(IsBefore(b, i), b);
    });
    for (const uint32_t op : conflicts) {
      if (IsKnown(at, i, op)) continue;
      const bool by_host =
          QueueOf(i) == 0 || !problem_.can_wait(QueueOf(i), QueueOf(op));
      waits_[i].push_back({op, by_host});
      Take(at, i, waits_[i].back());
    }
  }

  void Issue(Position& at, uint32_t i) {
    const uint16_t queue = QueueOf(i);
    if (const uint32_t across = across_of_[i]; across != kNone) {
      at.issued.Insert(across);
      for (OpSet& done : at.done) done.Remove(across);
    }
    OpSet before = across_of_queue_[queue];
    before.Subtract(at.issued);
    at.done[queue].Add(before);
    at.clocks[queue][queue] = int64_t{i} - at.begin + 1;
    at.clock_behind[i - at.begin] = at.clocks[queue];
    at.done_behind[i - at.begin] = at.done[queue];
  }

  Knowledge AtEnd(const Position& at, const WaitProblem::Block& block) const {
    Knowledge end = *at.entry;
    end.lines = at.done;
    if (!remembers_) return end;
    const auto add_known = [&](const Clock& clock, OpSet* done) {
      for (uint32_t i = block.begin; i < block.end; ++i) {
        const uint32_t across = across_of_[i];
        if (across == kNone) continue;
        if (clock[QueueOf(i)] > i - at.begin) done->Insert(across);
      }
    };
    for (uint16_t line = 0; line < problem_.queues; ++line) {
      add_known(at.clocks[line], &end.lines[line]);
    }
    for (uint32_t x = 0; x < across_.size(); ++x) {
      OpSet& behind = end.behind[x];
      const bool ran = at.issued.Has(x);
      if (ran) behind = at.done_behind[across_[x] - at.begin];
      behind.Subtract(at.issued);
      if (ran) add_known(at.clock_behind[across_[x] - at.begin], &behind);
    }
    return end;
  }

  // The last first.
  void TakeOutImplied() {
    size_t count = 0;
    for (const auto& list : waits_) count += list.size();
    // In one block every wait was needed when it was made, and a later one
    // cannot imply it.
    if (!remembers_ || problem_.blocks.size() == 1 ||
        count * waits_.size() > kMostTrials) {
      return;
    }
    for (size_t i = waits_.size(); i-- > 0;) {
      for (size_t w = waits_[i].size(); w-- > 0;) {
        const WaitFor wait = waits_[i][w];
        waits_[i].erase(waits_[i].begin() + static_cast<ptrdiff_t>(w));
        all_known_ = true;
        Analyze();
        for (uint32_t b = 0; all_known_ && b < entries_.size(); ++b) {
          Walk(b, /*add=*/false);
        }
        if (all_known_) continue;
        waits_[i].insert(waits_[i].begin() + static_cast<ptrdiff_t>(w), wait);
      }
    }
  }

  const WaitProblem& problem_;
  std::vector<uint32_t> block_of_;  // by operation
  // Operations that are waited for across blocks, and their index, by
  // operation.
  std::vector<uint32_t> across_, across_of_;
  std::vector<OpSet> across_of_queue_;
  bool remembers_ = true;
  // By block and queue, ascending.
  std::vector<std::vector<std::vector<uint32_t>>> last_;
  std::vector<std::optional<Knowledge>> entries_;  // by block
  std::vector<std::vector<WaitFor>> waits_;
  bool all_known_ = true;
};

}  // namespace

std::vector<std::vector<WaitFor>> PlanWaits(const WaitProblem& problem) {
  return WaitPlanner(problem).Run();
}

}  // namespace encore::runtime
