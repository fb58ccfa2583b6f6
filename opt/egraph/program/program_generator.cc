#include "encore/opt/egraph/program/program_generator.h"

#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

struct TableShape {
  std::string name;
  std::vector<std::string> columns;
  std::string result;  // "" for a relation
};

struct TypedName {
  std::string name;
  std::string sort;
};

bool IsLiteral(std::string_view sort) {
  return sort == "i64" || sort == "String" || sort == "bool" || sort == "f64" ||
         sort == "Unit";
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 2 + 1) {
    for (int i = 0; i < 4; ++i) Next();
  }

  std::string Run() {
    Declare();
    const size_t num_globals = 3 + Below(3);
    for (size_t i = 0; i < num_globals; ++i) Global("$g");
    Rules(3 + Below(5));
    for (size_t i = 2 + Below(5); i > 0; --i) TopAction();
    const size_t num_blocks = 1 + Below(3);
    for (size_t i = 0; i < num_blocks; ++i) Block();
    for (size_t i = Below(3); i > 0; --i) Check();
    Line("(print-size)");
    return std::move(out_);
  }

 private:
  uint64_t Next() {  // SplitMix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  size_t Below(size_t n) { return Next() % n; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }
  void Line(std::string_view line) { StrAppend(&out_, line, "\n"); }

  void Declare() {
    const size_t num_sorts = 1 + Below(2);
    for (size_t s = 0; s < num_sorts; ++s) sorts_.push_back(StrCat("S", s));
    for (const std::string& sort : sorts_) Line(StrCat("(sort ", sort, ")"));
    for (const std::string& sort : sorts_) {
      DeclareTable({StrCat(sort, "Nil"), {}, sort});
      DeclareTable({StrCat(sort, "Num"), {OneIn(3) ? "String" : "i64"}, sort});
      const size_t more = 1 + Below(3);
      for (size_t i = 0; i < more; ++i) {
        DeclareTable({StrCat(sort, "C", i), Columns(1 + Below(3), 4), sort});
      }
    }
    const size_t num_relations = Below(3);
    for (size_t i = 0; i < num_relations; ++i) {
      DeclareTable({StrCat("R", i), Columns(Below(3), 2), ""});
    }
    for (size_t i = Below(3); i > 0; --i) {
      rulesets_.push_back(StrCat("rules", i));
      Line(StrCat("(ruleset ", rulesets_.back(), ")"));
    }
    if (rulesets_.size() > 1) {
      Line(StrCat("(unstable-combined-ruleset all ", rulesets_[0], " ",
                  rulesets_[1], ")"));
    }
  }

  std::vector<std::string> Columns(size_t count, size_t literal_one_in) {
    static const std::vector<std::string>* const kLiterals =
        new std::vector<std::string>{"i64", "i64",  "i64", "String",
                                     "f64", "bool", "Unit"};
    std::vector<std::string> columns;
    for (size_t i = 0; i < count; ++i) {
      columns.push_back(OneIn(literal_one_in) ? Pick(*kLiterals)
                                              : Pick(sorts_));
    }
    return columns;
  }

  void DeclareTable(TableShape table) {
    std::string line =
        StrCat(table.result.empty() ? "(relation " : "(constructor ",
               table.name, " (", StrJoin(table.columns, " "), ")");
    if (!table.result.empty()) {
      StrAppend(&line, " ", table.result);
      if (OneIn(4)) StrAppend(&line, " :cost ", Below(6));
      if (OneIn(12)) StrAppend(&line, " :unextractable");
    }
    Line(line + ")");
    tables_.push_back(std::move(table));
  }

  std::string Literal(std::string_view sort) {
    static const std::vector<std::string>* const kIntegers =
        new std::vector<std::string>{"0",  "1", "2",
                                     "-1", "3", "9223372036854775807"};
    if (sort == "i64") return (*kIntegers)[Below(OneIn(8) ? 6 : 4)];
    if (sort == "String") return OneIn(2) ? "\"a\"" : "\"b\"";
    if (sort == "f64") return OneIn(2) ? "1.5" : "-0.0";
    if (sort == "bool") return OneIn(2) ? "true" : "false";
    return "()";
  }

  static std::vector<std::string> NamesOf(const std::vector<TypedName>& from,
                                          std::string_view sort) {
    std::vector<std::string> names;
    for (const TypedName& known : from) {
      if (known.sort == sort) names.push_back(known.name);
    }
    return names;
  }

  // A term of `sort` from globals, `variables_` and constructors. Where `fresh`
  // is set, unknown variables may come in: a pattern.
  std::string Term(const std::string& sort, size_t depth, bool fresh) {
    std::vector<std::string> bound = NamesOf(variables_, sort);
    if (fresh && !OneIn(4)) {
      return bound.empty() || !OneIn(3) ? NewVariable(sort) : Pick(bound);
    }
    if (!bound.empty() && !OneIn(3)) return Pick(bound);
    const std::vector<std::string> globals = NamesOf(globals_, sort);
    if (!globals.empty() && OneIn(3)) return Pick(globals);
    if (IsLiteral(sort)) {
      return fresh || depth == 0 || OneIn(2) ? Literal(sort)
                                             : Computed(sort, depth - 1);
    }
    std::vector<const TableShape*> shapes;
    for (const TableShape& table : tables_) {
      if (table.result == sort && (depth > 0 || table.columns.empty())) {
        shapes.push_back(&table);
      }
    }
    return Row(*Pick(shapes), depth > 0 ? depth - 1 : 0, fresh);
  }

  std::string NewVariable(const std::string& sort) {
    if (OneIn(10)) return "_";
    variables_.push_back({StrCat("x", variables_.size()), sort});
    return variables_.back().name;
  }

  std::string Row(const TableShape& table, size_t depth, bool fresh) {
    std::string row = "(" + table.name;
    for (const std::string& column : table.columns) {
      StrAppend(&row, " ", Term(column, depth, fresh));
    }
    return row + ")";
  }

  std::string Computed(const std::string& sort, size_t depth) {
    const auto two = [&](std::string_view name, const std::string& operands) {
      return StrCat("(", name, " ", Term(operands, depth, false), " ",
                    Term(operands, depth, false), ")");
    };
    static const std::vector<std::string>* const kIntegerPrimitives =
        new std::vector<std::string>{"+", "-", "*", "min", "max",
                                     "&", "|", "^", "/",   "%"};
    if (sort == "i64") {
      return two((*kIntegerPrimitives)[Below(OneIn(6) ? 10 : 8)], sort);
    }
    if (sort == "String") {  // of literals, lest strings double in each round
      return StrCat("(+ ", Literal(sort), " ", Literal(sort), ")");
    }
    if (sort == "f64") return two(OneIn(2) ? "+" : "max", sort);
    if (sort == "bool") return two(OneIn(2) ? "bool-<" : "bool-=", "i64");
    return "()";
  }

  void Global(std::string_view prefix) {
    const std::string sort = OneIn(5) ? "i64" : Pick(sorts_);
    const std::string name = StrCat(prefix, globals_.size());
    Line(StrCat("(let ", name, " ", Term(sort, 3, false), ")"));
    globals_.push_back({name, sort});
  }

  std::string TableFact() {
    const TableShape& table = Pick(tables_);
    const std::string row = Row(table, Below(3), true);
    if (table.result.empty() || OneIn(3)) return row;
    return StrCat("(= ", Term(table.result, 0, true), " ", row, ")");
  }

  std::string Condition() {
    const TypedName& variable = Pick(variables_);
    const std::string other = Term(variable.sort, 1, false);
    if (variable.sort == "i64" || variable.sort == "f64") {
      static const std::vector<std::string>* const kComparisons =
          new std::vector<std::string>{"<", "<=", ">", "!=", "="};
      return StrCat("(", Pick(*kComparisons), " ", variable.name, " ", other,
                    ")");
    }
    if (variable.sort == "bool" && OneIn(2))
      return "(and true " + variable.name + ")";
    if (OneIn(6)) {
      return StrCat("(guard (bool-!= ", variable.name, " ", other, "))");
    }
    return StrCat(OneIn(3) ? "(= " : "(!= ", variable.name, " ", other, ")");
  }

  std::string Facts(size_t tables) {
    std::string facts;
    for (size_t i = 0; i < tables; ++i) StrAppend(&facts, TableFact(), " ");
    if (variables_.empty()) return facts;
    for (size_t i = Below(3); i > 0; --i) StrAppend(&facts, Condition(), " ");
    if (OneIn(3)) {
      StrAppend(&facts, "(= sum ", Computed("i64", 1), ")");
      variables_.push_back({"sum", "i64"});
    }
    return facts;
  }

  std::string Action() {
    if (OneIn(150)) return "(panic \"by chance\")";
    const TableShape& table = Pick(tables_);
    if (table.result.empty() || OneIn(3)) return Row(table, 1, false);
    return StrCat("(union ", Term(table.result, 1, false), " ",
                  Term(table.result, 2, false), ")");
  }

  void Rules(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      variables_.clear();
      const std::string options =
          !rulesets_.empty() && OneIn(2)
              ? StrCat(" :ruleset ", Pick(rulesets_), ")")
              : ")";
      if (OneIn(2)) {
        Rewrite(options);
        continue;
      }
      std::string line = StrCat("(rule (", Facts(Below(4)), ") (");
      if (OneIn(4)) {
        const std::string sort = Pick(sorts_);
        StrAppend(&line, "(let made ", Term(sort, 1, false), ") ");
        variables_.push_back({"made", sort});
      }
      for (size_t n = 1 + Below(2); n > 0; --n) StrAppend(&line, Action(), " ");
      Line(line + ")" + options);
      variables_.clear();
    }
  }

  void Rewrite(const std::string& options) {
    const std::string sort = Pick(sorts_);
    std::vector<const TableShape*> shapes;
    for (const TableShape& table : tables_) {
      if (table.result == sort && !table.columns.empty()) {
        shapes.push_back(&table);
      }
    }
    const std::string left = Row(*Pick(shapes), 1 + Below(2), true);
    std::string when;
    if (!variables_.empty() && OneIn(3)) {
      when = StrCat(" :when (", Condition(), ")");
    }
    Line(StrCat("(rewrite ", left, " ", Term(sort, 2, false), when, options));
    variables_.clear();
  }

  void TopAction() {
    variables_.clear();
    const TableShape& table = Pick(tables_);
    if (table.result.empty() || OneIn(2)) {
      Line(Row(table, 2, false));
    } else {
      Line(StrCat("(union ", Term(table.result, 2, false), " ",
                  Term(table.result, 2, false), ")"));
    }
  }

  std::string Ruleset() {
    if (rulesets_.empty()) return "(run)";
    if (rulesets_.size() > 1 && OneIn(2)) return "all";
    return OneIn(3) ? "(run)" : Pick(rulesets_);
  }

  void Block() {
    const bool scoped = OneIn(4);
    const std::vector<TypedName> globals = globals_;
    if (scoped) {
      Line("(push)");
      Global("$p");
      if (OneIn(2)) Rules(1);
    }
    if (OneIn(3)) TopAction();
    switch (Below(4)) {
      case 0:
        Line(StrCat("(run ", 1 + Below(4), ")"));
        break;
      case 1:
        Line(StrCat("(run-schedule (repeat ", 1 + Below(2), " ", Ruleset(), " ",
                    Ruleset(), "))"));
        break;
      case 2:
        Line(StrCat("(run-schedule (saturate ", Ruleset(), ") ", Ruleset(),
                    ")"));
        break;
      default: {
        const std::string until = Facts(1);
        variables_.clear();
        Line(StrCat("(run ", 1 + Below(5), " :until ", until, ")"));
      }
    }
    if (scoped) {
      Line("(print-size)");
      Line("(pop)");
      globals_ = globals;
    }
  }

  void Check() {
    variables_.clear();
    const std::string facts = Facts(1 + Below(2));
    const bool fail = OneIn(2);
    Line(StrCat(fail ? "(fail (check " : "(check ", facts, fail ? "))" : ")"));
    variables_.clear();
  }

  uint64_t state_;
  std::string out_;
  std::vector<std::string> sorts_;
  std::vector<std::string> rulesets_;
  std::vector<TableShape> tables_;
  std::vector<TypedName> globals_;
  std::vector<TypedName> variables_;
};

}  // namespace

std::string RandomProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace encore::opt::program
