// Matcher: walks a trie over a rebuilt graph and hands out the matches.
#ifndef ENCORE_OPT_EGRAPH_MATCHER_H_
#define ENCORE_OPT_EGRAPH_MATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "encore/opt/egraph/egraph.h"
#include "encore/opt/egraph/flat_array.h"
#include "encore/opt/egraph/trie.h"

namespace encore::egraph {

// The matches of one query: rows of as many values as its yields have
// registers.
struct MatchBuffer {
  FlatArray<Value> values;
  size_t stride = 0;  // 0: matches bind nothing and only their number counts
  size_t count = 0;
  size_t applied = 0;     // how many of the first its user is done with
  size_t limit = 0;       // matches beyond are not kept ...
  bool overflow = false;  // ... and there were some

  explicit MatchBuffer(MemoryMeter* meter) : values(meter) {}
};

class Matcher {
 public:
  // Matches go to buffers[yield.query]. `stop` is asked every few thousand
  // steps; Run ends early once it says true.
  Matcher(EGraph* graph, const Trie* trie, std::vector<MatchBuffer>* buffers,
          std::function<bool()> stop);
  // Matches go to `each`, and Run ends when it returns false.
  Matcher(EGraph* graph, const Trie* trie,
          std::function<bool(std::span<const Value>)> each);

  // Whether it ran to the end.
  bool Run();

 private:
  // The rows of an operator within ages, ordered by a column: made when a step
  // first asks for it, so that joins over literals do not scan.
  struct ColumnIndex {
    struct Entry {
      Value value;
      uint32_t node;
    };
    uint32_t op;
    uint32_t from;
    uint32_t to;
    uint8_t column;
    FlatArray<Entry> entries;
  };
  const ColumnIndex& IndexFor(const TrieStep& step);

  bool Execute(uint32_t trie_node);
  bool Step(const TrieNode& node);
  bool Bind(const TrieNode& node, uint32_t n);
  bool Members(const TrieNode& node);
  bool Users(const TrieNode& node);
  bool Literal(const TrieNode& node);
  bool Lookup(const TrieNode& node);
  bool Primitive(const TrieStep& step);
  bool Yield(const TrieStep& step);
  bool Stopped() { return (++work_ & 0xFFF) == 0 && stop_ && stop_(); }

  EGraph* graph_;
  const NodeStore& store_;
  const Trie* trie_;
  std::vector<MatchBuffer>* buffers_ = nullptr;
  std::function<bool()> stop_;
  std::function<bool(std::span<const Value>)> each_;
  std::vector<Value> registers_;
  std::vector<Value> scratch_;
  std::deque<ColumnIndex> indexes_;
  std::vector<const ColumnIndex*> index_of_step_;  // by trie node
  uint64_t work_ = 0;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCHER_H_
