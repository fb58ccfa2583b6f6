// A program after reading and checking: names resolved, every expression with
// its sort, everything in flat append-only arrays.
//
// Declarations are never removed from these arrays, also when a (pop) ends
// their scope: an id means one declaration for the whole run. A program is
// immutable once checked, but for its interner, to which a run adds the
// strings it computes.
//
// Expressions stand in post-order: the subtree of expression e is
// [exprs[e].first, e], its last argument is e - 1, and the argument before
// argument a is exprs[a].first - 1. So a subtree is evaluated by one pass over
// a range, without recursion.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_AST_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_AST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/program/interner.h"
#include "encore/opt/egraph/program/primitives.h"
#include "encore/opt/egraph/program/sorts.h"

namespace encore::opt::program {

using Symbol = uint32_t;  // id in the interner
using ExprId = uint32_t;
using TableId = uint32_t;
using GlobalId = uint32_t;
using RulesetId = uint32_t;
using RuleId = uint32_t;

inline constexpr RulesetId kUnnamedRuleset = 0;

struct Position {
  uint32_t file = 0;
  uint32_t offset = 0;
};

struct SourceFile {
  std::string name;
  std::string text;
  std::vector<uint32_t> line_starts;  // offset of the first byte of each line
};
SourceFile MakeSourceFile(std::string name, std::string text);

// A constructor (arguments -> class) or a relation (arguments; result Unit).
struct Table {
  Symbol name;
  bool relation = false;
  bool unextractable = false;
  uint64_t cost = 1;
  std::vector<SortId> arguments;
  SortId result = kUnitSort;
};

// A name bound by a top-level let.
struct Global {
  Symbol name;
  SortId sort;
};

struct Ruleset {
  Symbol name;
  bool combined = false;
  std::vector<RulesetId> parts;  // of a combined one
};

enum class ExprKind : uint8_t {
  kVariable,
  kGlobal,
  kLiteral,
  kTable,
  kPrimitive
};

struct Expr {
  ExprKind kind;
  SortId sort = kUnitSort;
  uint32_t num_arguments = 0;
  // Variable: number in its rule or query. Global, table: id. Primitive: the
  // Primitive's value.
  uint32_t index = 0;
  ExprId first = 0;
  uint32_t offset = 0;   // in its file
  uint64_t literal = 0;  // the value's bits (sorts.h)
};

// (= e1 e2 ...) or, with one member, an expression that must hold.
struct Fact {
  std::vector<ExprId> chain;
};

struct Variable {
  Symbol name;
  SortId sort;
};

// Facts with the variables they share.
struct Query {
  std::vector<Fact> facts;
  std::vector<Variable> variables;
};

enum class ActionKind : uint8_t { kUnion, kLet, kEvaluate, kPanic };

struct Action {
  ActionKind kind;
  ExprId left = 0;        // union, let, evaluate
  ExprId right = 0;       // union
  uint32_t variable = 0;  // let: variable (in a rule) or global (top level)
  Symbol message = 0;     // panic
  Position position = {};
};

// rewrite and birewrite are rules too. `query.variables` has the variables of
// the actions' lets at its end.
struct Rule {
  std::string name;  // as given by :name, else empty
  RulesetId ruleset = kUnnamedRuleset;
  Query query;
  std::vector<Action> actions;
  Position position = {};
};

enum class ScheduleKind : uint8_t { kRun, kSaturate, kSequence, kRepeat };

// A schedule stands in pre-order; `end` is the index after its last
// descendant.
struct Schedule {
  ScheduleKind kind;
  uint32_t end = 0;
  RulesetId ruleset = kUnnamedRuleset;  // run
  uint64_t count = 0;                   // repeat
  std::optional<uint32_t> until = {};   // run: index in Program::queries
};

enum class CommandKind : uint8_t {
  kDeclare,     // all tables below `index` and all sorts below `other` exist
  kRules,       // rules [index, index + count)
  kAction,      // actions[index]
  kRun,         // schedules[index]
  kPush,        // count times
  kPop,         // count times
  kCheck,       // queries[index]
  kExtract,     // expression index
  kExplain,     // expressions index, other
  kPrintSize,   // table index
  kPrintSizes,  // table_lists[index]
  kPrintStats,
};

struct Command {
  CommandKind kind;
  uint32_t index = 0;
  uint32_t other = 0;
  uint64_t count = 0;
  uint32_t fails = 0;  // how many (fail ...) are around it
  Position position = {};
};

struct Program {
  std::unique_ptr<Interner> names = std::make_unique<Interner>();
  std::vector<SourceFile> files;
  std::vector<Symbol> sorts;  // names of all, the built-in ones first
  std::vector<Table> tables;
  std::vector<Global> globals;
  std::vector<Ruleset> rulesets;
  std::vector<Expr> exprs;
  std::vector<Query> queries;
  std::vector<Rule> rules;
  std::vector<Action> actions;
  std::vector<Schedule> schedules;
  std::vector<std::vector<TableId>> table_lists;  // each in order of name
  std::vector<Command> commands;
  bool explains = false;  // has an (explain ...)

  std::string_view Name(Symbol symbol) const { return names->Text(symbol); }
};

// "FILE:LINE:COLUMN", both from 1, columns in bytes.
std::string Where(const Program& program, Position position);

// The arguments of expression `e`, first to last, into `out`.
void Arguments(const Program& program, ExprId e, std::vector<ExprId>* out);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_AST_H_
