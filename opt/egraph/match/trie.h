// Trie: the queries of many rules as one tree of steps.
//
// A query becomes a list of steps: the first enumerates nodes of an operator,
// each further one enumerates nodes joined to registers that are bound, looks
// one up, or compares. Queries that begin with the same steps share them, so
// the graph is walked once for all of them.
//
// A rule that has run before looks only at what is new. With atoms A1..Ak its
// new matches are the disjoint union, over i, of those where Ai is new,
// A1..Ai-1 are old and the others are either: k queries, of which those with an
// empty part are left out. Each starts at the atom with the fewest nodes of its
// age, which may be above or below the others: members lead from a class down
// to its nodes, users lead up.
//
// A trie is planned for one state of the graph: atoms without variables are
// looked up while planning, and constants are canonical.
#ifndef ENCORE_OPT_EGRAPH_MATCH_TRIE_H_
#define ENCORE_OPT_EGRAPH_MATCH_TRIE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

struct TrieStep {
  enum class Kind : uint8_t {
    kScan,      // nodes of op
    kMembers,   // nodes of op in the class in register a
    kUsers,     // nodes of op whose column `column` is the class in register a
    kLiteral,   // nodes of op whose column `column` is the literal in a
    kLookup,    // the node of op with the columns in operands
    kEqual,     // registers a and b
    kNotEqual,  // registers a and b
    kIsConstant,  // register a and value b
    kSet,         // register a = value b
    kPrimitive,   // primitive `op` of operands; result to register a if a binds
    kYield        // a match of query `op`
  };
  Kind kind;
  uint32_t column = 0;
  bool condition = false;  // kPrimitive: it has no result
  bool binds = false;      // kPrimitive: a is written, otherwise compared
  uint32_t op = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t base = 0;  // first register of the node: columns, class, node
  uint32_t from = 0;  // row stamps of the node, from <= stamp < to
  uint32_t to = 0;
  std::vector<uint32_t> operands = {};  // registers

  bool operator==(const TrieStep&) const = default;
};

struct TrieNode {
  TrieStep step;
  uint32_t child = kNoTrieNode;
  uint32_t sibling = kNoTrieNode;

  static constexpr uint32_t kNoTrieNode = 0xFFFFFFFFu;
};

// What a query yields: registers, in the order in which its user wants them.
// Good until the trie changes.
struct TrieYield {
  uint32_t query;  // as given to Trie::Add
  std::span<const uint32_t> registers;
};

class QueryPlanner;

class Trie {
 public:
  Trie();
  ~Trie();

  void Clear();
  // Adds the query of `rule`, to find matches with a node stamped from `since`
  // on (0: all matches). A yield gives the values of the slots in `wanted`,
  // then, where `with_nodes`, the node of each atom. Several yields may belong
  // to one query. REQUIRES: graph.rebuilt().
  void Add(const EGraph& graph, const Rule& rule, uint32_t since,
           uint32_t query, std::span<const Slot> wanted, bool with_nodes);

  uint32_t root() const { return root_; }
  // Children come after their parents.
  uint32_t num_nodes() const { return nodes_.size(); }
  const TrieNode& node(uint32_t i) const { return nodes_[i]; }
  TrieYield yield(uint32_t i) const {
    const Yield& yield = yields_[i];
    return {yield.query,
            {yield_registers_.data() + yield.begin, yield.end - yield.begin}};
  }
  uint32_t num_registers() const { return num_registers_; }

 private:
  friend class QueryPlanner;
  struct Yield {
    uint32_t query;
    uint32_t begin;  // in yield_registers_
    uint32_t end;
  };

  // Takes the steps, and leaves room for others.
  void Insert(std::vector<TrieStep>* steps);

  std::unique_ptr<QueryPlanner> planner_;
  std::vector<TrieNode> nodes_;
  std::vector<Yield> yields_;
  std::vector<uint32_t> yield_registers_;
  uint32_t root_ = TrieNode::kNoTrieNode;
  uint32_t num_registers_ = 1;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_TRIE_H_
