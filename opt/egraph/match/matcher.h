// Matcher: walks a trie over a rebuilt graph and hands out the matches.
//
// Steps take partial matches in blocks of up to kLanes and give blocks, so that
// the lists of many classes are followed at once: what one lane asks memory for
// comes while the others are looked at. Siblings that follow the same list of
// the same register follow it together; when many lanes have come to them or
// are expected, they read indexes (join_index.h). A step keeps only the
// registers it binds; a lane remembers the lane it comes from, where older ones
// are.
//
// The order of matches depends on the trie and the graph only.
#ifndef ENCORE_OPT_EGRAPH_MATCH_MATCHER_H_
#define ENCORE_OPT_EGRAPH_MATCH_MATCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "encore/opt/egraph/core/change_log.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/join_index.h"
#include "encore/opt/egraph/match/match_buffer.h"
#include "encore/opt/egraph/match/trie.h"

namespace encore::egraph {

class Matcher {
 public:
  // Matches go to buffers[yield.query]. `stop` is asked every few thousand
  // steps; Run ends early once it says true.
  Matcher(EGraph* graph, const Trie* trie, std::vector<MatchBuffer>* buffers,
          std::function<bool()> stop);
  // Matches go to `each`, and Run ends when it returns false.
  Matcher(EGraph* graph, const Trie* trie,
          std::function<bool(std::span<const Value>)> each,
          std::function<bool()> stop);

  // Whether it ran to the end. To be called once.
  bool Run();

 private:
  static constexpr uint32_t kLanes = 64;

  // Partial matches, as the registers that one step has bound and steps before
  // the next binding one have added.
  struct Frame {
    const Frame* parent = nullptr;
    uint32_t first = 0;  // its first register; older ones are in the parent
    uint32_t count = 0;  // lanes
    Value* values = nullptr;  // by register, kLanes each
    uint8_t from[kLanes];     // the lane of the parent, by lane

    Value* column(uint32_t reg) const {
      return values + size_t{reg - first} * kLanes;
    }
    Value Get(uint32_t reg, uint32_t lane) const {
      const Frame* frame = this;
      for (; reg < frame->first; frame = frame->parent) {
        lane = frame->from[lane];
      }
      return frame->column(reg)[lane];
    }
  };
  // Some lanes of a frame.
  struct Block {
    Frame* frame;
    const uint8_t* lanes;
    uint32_t count;
    Value Get(uint32_t reg, uint32_t i) const {
      return frame->Get(reg, lanes[i]);
    }
    // The register in all lanes. REQUIRES: there is one.
    void Gather(uint32_t reg, Value* out) const;
  };

  // A trie node: what it binds, and what is done with it.
  struct Branch {
    const TrieStep* step = nullptr;
    uint32_t arity = 0;  // of the nodes it binds
    uint32_t width = 0;  // registers of its frame
    // Lanes that are likely to come out of it: the nodes that the scan it comes
    // from starts at.
    uint64_t expected = 1;
    uint32_t first_group = 0;  // of its children, in groups_
    uint32_t num_groups = 0;
    Frame frame;  // of steps that bind nodes
  };
  // Sibling trie nodes that are executed together, with what each wants of the
  // nodes of a list.
  struct Wanted {
    Branch* branch;
    uint32_t op;
    uint32_t from;
    uint32_t ages;  // stamps: from <= stamp < from + ages
    uint32_t column;
    const JoinIndex* index;  // where the group's steps read indexes
  };
  struct Group {
    TrieStep::Kind kind;
    uint32_t op_bits;  // of the operators wanted
    absl::InlinedVector<Wanted, 1> branches;
    // Lanes until it reads indexes; none where as many are expected.
    uint64_t patience;
    bool indexed = false;
  };
  // A group being executed. It takes a block and puts out blocks to its
  // branches, which are handed on when they are full and at the end.
  struct Level {
    Group* group;
    Block input;
    bool started;
    bool done;                // no more output
    uint32_t branch;          // whose output is being handed on; or past them
    uint32_t child;           // the next of that branch's groups
    uint32_t at;              // in the input, except for walks
    ChangeLog::Cursor log;    // kScan
    uint32_t joining;         // joins: the branch whose index is being read
    bool joined;              // ... and whether its cursors are set
    uint32_t cursor[kLanes];  // in its list or index, by position in the input
    uint32_t end[kLanes];     // joins: likewise
    Value keys[kLanes];       // joins: likewise
    // Filters: the lanes that passed; walks: the positions in the input whose
    // lists have not ended.
    uint32_t count;
    uint8_t lanes[kLanes];
  };
  struct MemberList;
  struct UserList;

  void Compile();
  void GiveColumns(Branch* branch);
  void AddGroups(uint32_t parent, uint32_t frame, uint32_t first_child,
                 std::vector<uint32_t>* frame_of);

  void Enter(Group* group, Block input);
  // The next group to execute on what `level` has put out, or null.
  Group* NextChild(Level* level, Block* input);
  // Executes the group until a branch has a full block or the end; false: Run
  // ends.
  bool Produce(Level* level);
  void Start(Level* level);
  void Scan(Level* level);
  template <typename List>
  void Walk(Level* level);
  void MakeIndexes(Group* group);
  uint64_t Patience(const TrieStep& step) const;
  void Join(Level* level);
  void StartJoin(const JoinIndex& index, Level* level);
  bool BindEntries(const Wanted& wanted, Level* level);
  bool BindWideEntries(const Wanted& wanted, Level* level);
  void Lookup(Level* level);
  void Filter(Level* level);
  bool Primitive(const TrieStep& step, Frame* frame, uint32_t lane);
  bool Yield(const Level& level);
  const JoinIndex* IndexFor(const JoinIndex::Key& key);
  Branch& only_branch(const Level& level) {
    return *level.group->branches.front().branch;
  }
  // Whether the branch's block is full now.
  bool Bind(Branch* branch, const Block& input, uint32_t position, uint32_t n);

  EGraph* graph_;
  const NodeStore& store_;
  const Trie* trie_;
  std::vector<MatchBuffer>* buffers_ = nullptr;
  std::function<bool()> stop_;
  std::function<bool(std::span<const Value>)> each_;
  std::vector<Branch> branches_;  // the root, then one per trie node
  std::vector<Group> groups_;
  std::vector<FlatArray<Value>> columns_;       // that frames have been given
  size_t columns_left_ = 0;                     // to give: values
  std::vector<std::unique_ptr<Level>> levels_;  // the first depth_ are active
  size_t depth_ = 0;
  std::vector<Value> scratch_;
  std::deque<JoinIndex> indexes_;
  FlatArray<JoinIndex::Keyed> index_scratch_;
  uint64_t work_ = 0;
  uint64_t next_check_ = kWorkPerCheck;
  static constexpr uint64_t kWorkPerCheck = 4096;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_MATCHER_H_
