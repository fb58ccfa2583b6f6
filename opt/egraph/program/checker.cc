#include "encore/opt/egraph/program/checker.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/declarations.h"
#include "encore/opt/egraph/program/expressions.h"
#include "encore/opt/egraph/program/reader.h"
#include "encore/opt/egraph/program/rules.h"
#include "encore/opt/egraph/program/schedules.h"
#include "encore/opt/egraph/program/scope.h"

namespace encore::opt::program {
namespace {

// Commands of the full language that are not in the subset.
constexpr std::string_view kUnsupportedCommands[] = {
    "function",      "input",         "output",       "print-function",
    "prove",         "prove-exists",  "simplify",     "calc",
    "query-extract", "multi-extract", "set-option",   "print-table",
    "print-rule",    "add-ruleset",   "with-ruleset", "let-scheduler",
    "run-with",      "get-size!",     "for",          "keep-best",
    "unstable-fn"};

constexpr size_t kMaxIncludeDepth = 64;
constexpr size_t kMaxFiles = 10000;

class Checker {
 public:
  Checker(Program* program, const ReadFileFn& read_file,
          Diagnostics* diagnostics)
      : program_(*program),
        read_file_(read_file),
        scope_(program->names.get()),
        context_{program, &scope_, diagnostics},
        rules_(&context_),
        declarations_(&context_, &rules_),
        schedules_(&context_, &rules_) {
    DeclareBuiltins();
  }

  void Run(const std::string& name, std::string text) {
    OpenFile(name, std::move(text));
    while (!files_.empty()) {
      OpenedFile& file = *files_.back();
      context_.nodes = &file.sexprs.nodes;
      context_.file = file.file;
      if (file.next == file.sexprs.nodes.size()) {
        if (file.sexprs.error.has_value()) {
          context_.diagnostics->Reject({file.file, file.sexprs.error->offset},
                                       file.sexprs.error->message);
        }
        files_.pop_back();
        continue;
      }
      const uint32_t i = file.next;
      file.next = context_.node(i).end;
      CheckTopLevel(i);
    }
  }

 private:
  using Handler = void (Checker::*)(uint32_t i, Command* command);

  struct OpenedFile {
    uint32_t file;
    SexprFile sexprs;
    uint32_t next = 0;
  };

  void DeclareBuiltins() {
    for (SortId sort = 0; sort < kNumBuiltinSorts; ++sort) {
      const Symbol name = program_.names->Intern(kBuiltinSortNames[sort]);
      program_.sorts.push_back(name);
      scope_.Declare(name, {NameKind::kSort, sort});
    }
    program_.rulesets.push_back({program_.names->Intern(""), false, {}});
  }

  void OpenFile(const std::string& name, std::string text) {
    const auto index = static_cast<uint32_t>(program_.files.size());
    const bool too_long = text.size() >= size_t{1} << 31;
    if (too_long) text.clear();
    program_.files.push_back(MakeSourceFile(name, std::move(text)));
    if (too_long) {
      context_.diagnostics->Reject({index, 0}, "more than 2 GiB of text");
    }
    auto opened = std::make_unique<OpenedFile>();
    opened->file = index;
    opened->sexprs = Read(program_.files.back().text, program_.names.get());
    files_.push_back(std::move(opened));
  }

  std::string_view Head(uint32_t i) const {
    const Sexpr& node = context_.node(i);
    return node.kind == SexprKind::kList && node.end > i + 1 &&
                   context_.node(i + 1).kind == SexprKind::kSymbol
               ? context_.Text(i + 1)
               : std::string_view();
  }

  void CheckTopLevel(uint32_t i) {
    Command command{.kind = CommandKind::kDeclare};
    command.position = context_.At(i);
    while (Head(i) == "fail") {
      const std::vector<uint32_t> elements = context_.Elements(i);
      if (elements.size() != 2) {
        return context_.Reject(i, "usage: (fail COMMAND)");
      }
      ++command.fails;
      i = elements[1];
    }
    if (command.fails == 0) return CheckCommand(i, &command);
    // What fails declares nothing.
    const bool scoped = Head(i) != "push" && Head(i) != "pop";
    context_.diagnostics->set_in_fail(true);
    if (scoped) scope_.Push(1);
    CheckCommand(i, &command);
    if (scoped) scope_.Pop(1);
    context_.diagnostics->set_in_fail(false);
  }

  void CheckCommand(uint32_t i, Command* command) {
    static const auto* const handlers =
        new absl::flat_hash_map<std::string_view, Handler,
                                std::hash<std::string_view>>{
            {"sort", &Checker::Declaration},
            {"datatype", &Checker::Declaration},
            {"datatype*", &Checker::Declaration},
            {"constructor", &Checker::Declaration},
            {"relation", &Checker::Declaration},
            {"ruleset", &Checker::Declaration},
            {"unstable-combined-ruleset", &Checker::Declaration},
            {"rule", &Checker::RuleCommand},
            {"rewrite", &Checker::RuleCommand},
            {"birewrite", &Checker::RuleCommand},
            {"run", &Checker::RunCommand},
            {"run-schedule", &Checker::RunCommand},
            {"let", &Checker::LetCommand},
            {"push", &Checker::PushOrPop},
            {"pop", &Checker::PushOrPop},
            {"check", &Checker::CheckFacts},
            {"extract", &Checker::Extract},
            {"explain", &Checker::Explain},
            {"print-size", &Checker::PrintSize},
            {"print-stats", &Checker::PrintStats},
            {"include", &Checker::Include}};
    const std::string_view head = Head(i);
    const auto found = handlers->find(head);
    if (found != handlers->end()) return (this->*found->second)(i, command);
    ActionCommand(i, command);
  }

  void Emit(Command* command, CommandKind kind, uint32_t index = 0) {
    command->kind = kind;
    command->index = index;
    program_.commands.push_back(*command);
  }

  void Declaration(uint32_t i, Command* command) {
    const std::string_view head = Head(i);
    if (head == "sort") {
      declarations_.CheckSort(i);
    } else if (head == "datatype") {
      declarations_.CheckDatatype(i);
    } else if (head == "datatype*") {
      declarations_.CheckDatatypes(i);
    } else if (head == "constructor") {
      declarations_.CheckConstructor(i);
    } else if (head == "relation") {
      declarations_.CheckRelation(i);
    } else if (head == "ruleset") {
      declarations_.CheckRuleset(i);
    } else {
      declarations_.CheckCombinedRuleset(i);
    }
    command->other = static_cast<uint32_t>(program_.sorts.size());
    Emit(command, CommandKind::kDeclare,
         static_cast<uint32_t>(program_.tables.size()));
  }

  void RuleCommand(uint32_t i, Command* command) {
    const std::string_view head = Head(i);
    const auto first = static_cast<uint32_t>(program_.rules.size());
    command->count = head == "rule"
                         ? rules_.CheckRule(i)
                         : rules_.CheckRewrite(i, head == "birewrite");
    Emit(command, CommandKind::kRules, first);
  }

  void RunCommand(uint32_t i, Command* command) {
    const std::optional<uint32_t> schedule =
        Head(i) == "run" ? schedules_.CheckRun(i)
                         : schedules_.CheckRunSchedule(i);
    if (schedule.has_value()) Emit(command, CommandKind::kRun, *schedule);
  }

  void LetCommand(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    if (elements.size() != 3) {
      return context_.Reject(i, "usage: (let NAME EXPR)");
    }
    const auto terms = rules_.CheckTerms({&elements[2], 1});
    const auto id = static_cast<GlobalId>(program_.globals.size());
    if (!terms.has_value() ||
        !declarations_.Declare(elements[1], NameKind::kGlobal, id)) {
      return;
    }
    const SortId sort = program_.exprs[(*terms)[0]].sort;
    program_.globals.push_back(
        {static_cast<Symbol>(context_.node(elements[1]).payload), sort});
    Action action{.kind = ActionKind::kLet, .left = (*terms)[0]};
    action.variable = id;
    EmitAction(command, action);
  }

  void ActionCommand(uint32_t i, Command* command) {
    const std::string_view head = Head(i);
    if (std::find(std::begin(kUnsupportedCommands),
                  std::end(kUnsupportedCommands),
                  head) != std::end(kUnsupportedCommands) &&
        scope_.Find(static_cast<Symbol>(context_.node(i + 1).payload)).kind !=
            NameKind::kTable) {
      return context_.Unsupported(i, StrCat("command ", head));
    }
    const std::optional<Action> action = rules_.CheckAction(i);
    if (action.has_value()) EmitAction(command, *action);
  }

  void EmitAction(Command* command, Action action) {
    action.position = command->position;
    program_.actions.push_back(action);
    Emit(command, CommandKind::kAction,
         static_cast<uint32_t>(program_.actions.size() - 1));
  }

  void PushOrPop(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    command->count = 1;
    if (elements.size() == 2 &&
        context_.node(elements[1]).kind == SexprKind::kInteger &&
        static_cast<int64_t>(context_.node(elements[1]).payload) >= 0) {
      command->count = context_.node(elements[1]).payload;
    } else if (elements.size() != 1) {
      return context_.Reject(i, StrCat("usage: (", Head(i), " [COUNT])"));
    }
    const bool push = Head(i) == "push";
    // Where it has to fail the program goes on only if it did nothing.
    const bool succeeds = command->fails % 2 == 0;
    if (succeeds && push) scope_.Push(command->count);
    if (succeeds && !push) scope_.Pop(command->count);
    Emit(command, push ? CommandKind::kPush : CommandKind::kPop);
  }

  void CheckFacts(uint32_t i, Command* command) {
    std::vector<uint32_t> facts = context_.Elements(i);
    facts.erase(facts.begin());
    const std::optional<uint32_t> query = rules_.CheckQuery(facts);
    if (query.has_value()) Emit(command, CommandKind::kCheck, *query);
  }

  void Extract(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    if (elements.size() == 3) {
      return context_.Unsupported(i, "extract with a number of variants");
    }
    if (elements.size() != 2) {
      return context_.Reject(i, "usage: (extract EXPR)");
    }
    const auto terms = rules_.CheckTerms({&elements[1], 1});
    if (terms.has_value()) Emit(command, CommandKind::kExtract, (*terms)[0]);
  }

  void Explain(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    if (elements.size() != 3) {
      return context_.Reject(i, "usage: (explain EXPR EXPR)");
    }
    const auto terms = rules_.CheckTerms({&elements[1], 2});
    if (!terms.has_value()) return;
    if (!IsClassSort(program_.exprs[(*terms)[0]].sort)) {
      return context_.Reject(i, "explain wants terms of a declared sort");
    }
    program_.explains = true;
    command->other = (*terms)[1];
    Emit(command, CommandKind::kExplain, (*terms)[0]);
  }

  void PrintSize(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    if (elements.size() == 1) {
      std::vector<TableId> tables = scope_.tables();
      std::sort(tables.begin(), tables.end(), [&](TableId a, TableId b) {
        return program_.Name(program_.tables[a].name) <
               program_.Name(program_.tables[b].name);
      });
      program_.table_lists.push_back(std::move(tables));
      return Emit(command, CommandKind::kPrintSizes,
                  static_cast<uint32_t>(program_.table_lists.size() - 1));
    }
    if (elements.size() != 2) {
      return context_.Reject(i, "usage: (print-size [TABLE])");
    }
    const Sexpr& node = context_.node(elements[1]);
    const NameMeaning meaning =
        node.kind == SexprKind::kSymbol
            ? scope_.Find(static_cast<Symbol>(node.payload))
            : NameMeaning{};
    if (meaning.kind != NameKind::kTable) {
      return context_.Reject(elements[1],
                             StrCat("no table ", context_.Text(elements[1])));
    }
    Emit(command, CommandKind::kPrintSize, meaning.id);
  }

  void PrintStats(uint32_t i, Command* command) {
    if (context_.node(i).end != i + 2) {
      return context_.Unsupported(i, "print-stats with options");
    }
    Emit(command, CommandKind::kPrintStats);
  }

  void Include(uint32_t i, Command* command) {
    const std::vector<uint32_t> elements = context_.Elements(i);
    if (elements.size() != 2 ||
        context_.node(elements[1]).kind != SexprKind::kString) {
      return context_.Reject(i, "usage: (include \"PATH\")");
    }
    if (command->fails > 0) return context_.Unsupported(i, "fail of include");
    if (files_.size() >= kMaxIncludeDepth ||
        program_.files.size() >= kMaxFiles) {
      return context_.Reject(i, "too many files included");
    }
    std::string path(context_.Text(elements[1]));
    std::optional<std::string> text = read_file_(path);
    const std::string& from = program_.files[context_.file].name;
    const size_t slash = from.rfind('/');
    if (!text.has_value() && slash != std::string::npos && path[0] != '/') {
      path = from.substr(0, slash + 1) + path;
      text = read_file_(path);
    }
    if (!text.has_value()) {
      return context_.Reject(
          i, StrCat("cannot read ", context_.Text(elements[1])));
    }
    OpenFile(path, *std::move(text));
  }

  Program& program_;
  const ReadFileFn& read_file_;
  Scope scope_;
  CheckContext context_;
  RuleChecker rules_;
  DeclarationChecker declarations_;
  ScheduleChecker schedules_;
  std::vector<std::unique_ptr<OpenedFile>> files_;
};

}  // namespace

Program CheckProgram(const std::string& name, std::string text,
                     const ReadFileFn& read_file, Diagnostics* diagnostics) {
  Program program;
  Checker(&program, read_file, diagnostics).Run(name, std::move(text));
  return program;
}

}  // namespace encore::opt::program
