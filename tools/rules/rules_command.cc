#include "encore/tools/rules/rules_command.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/check/check_rule.h"
#include "encore/opt/tensor/find/expressions.h"
#include "encore/opt/tensor/find/find_operators.h"
#include "encore/opt/tensor/find/find_rules.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_printer.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/user_rules.h"
#include "encore/tools/command.h"
#include "encore/tools/json_output.h"
#include "encore/tools/progress.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

struct Flags {
  std::string file;
  opt::RuleCheckOptions check;
  opt::FindOptions find;
  std::string state;
  double seconds = 3600;
  JsonOutput json;
};

StatusOr<std::vector<opt::TextRule>> RulesOf(const Flags& flags) {
  if (flags.file.empty()) {
    const auto rules = opt::AllRules();
    return std::vector<opt::TextRule>(rules.begin(), rules.end());
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string text,
                          opt::ReadRulesFile(flags.file));
  return opt::ParseUserRules(text);
}

StatusOr<int> List(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto rules, RulesOf(flags));
  for (const opt::TextRule& rule : rules) {
    if (flags.json.wanted()) {
      Json json;
      json["rule"] = rule.name;
      json["tag"] = opt::Name(rule.tag);
      json["algebra"] = rule.algebra;
      json["text"] = opt::PrintRule(rule);
      flags.json.Write(json);
    }
    if (flags.json.on_stdout()) continue;
    Print(StrCat(rule.name, " (", opt::Name(rule.tag), "): ", rule.algebra,
                 "\n"));
  }
  return kExitOk;
}

Json ToJson(const opt::RuleVerdict& verdict) {
  Json json;
  json["rule"] = verdict.rule;
  json["tag"] = opt::Name(verdict.tag);
  json["right"] = verdict.right();
  json["graphs"] = verdict.applications;
  json["compared"] = verdict.compared;
  json["symbolic"] = verdict.symbolic;
  if (!verdict.refusal.empty()) json["refusal"] = verdict.refusal;
  if (verdict.failure) {
    json["reason"] = verdict.failure->reason;
    json["instance"] = opt::Print(*verdict.failure);
  }
  return json;
}

StatusOr<int> Check(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto rules, RulesOf(flags));
  Progress progress("checking", static_cast<int64_t>(rules.size()));
  int wrong = 0;
  for (const opt::TextRule& rule : rules) {
    const opt::RuleVerdict verdict = opt::CheckRule(rule, flags.check);
    progress.Advance();
    wrong += !verdict.right();
    if (flags.json.wanted()) flags.json.Write(ToJson(verdict));
    if (flags.json.on_stdout()) continue;
    progress.Hide();
    if (verdict.right()) {
      Print(StrCat("right  ", verdict.rule, " (", opt::Name(verdict.tag), "), ",
                   verdict.applications, " graphs\n"));
    } else {
      Print(StrCat("WRONG  ", Message(verdict.ToStatus()), "\n"));
    }
    progress.Show();
  }
  progress.Hide();
  if (!flags.json.on_stdout()) {
    Print(StrCat(rules.size() - static_cast<size_t>(wrong), " right, ", wrong,
                 " wrong\n"));
  }
  return wrong == 0 ? kExitOk : kExitMismatch;
}

StatusOr<int> Find(Flags& flags) {
  std::unique_ptr<Progress> progress;
  const auto begin = std::chrono::steady_clock::now();
  size_t shown = 0;
  const auto go_on = [&](size_t done, size_t all) {
    if (progress == nullptr) {
      progress =
          std::make_unique<Progress>("looking", static_cast<int64_t>(all));
    }
    progress->Advance(static_cast<int64_t>(done - shown));
    shown = done;
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - begin;
    return taken.count() < flags.seconds;
  };
  ENCORE_ASSIGN_OR_RETURN(
      const opt::FoundRules found,
      opt::FindRules(flags.find, opt::AllRules(), flags.state, go_on));
  progress.reset();
  for (const opt::MissingRule& rule : found.missing) {
    if (flags.json.wanted()) {
      Json json;
      json["operators"] = rule.operators;
      json["gain"] = rule.gain;
      json["from"] = rule.from;
      json["to"] = rule.to;
      flags.json.Write(json);
    }
    if (flags.json.on_stdout()) continue;
    Printf("%2d  %3.0f %%  %s = %s\n", rule.operators, 100 * rule.gain,
           rule.from.c_str(), rule.to.c_str());
  }
  if (!flags.json.on_stdout()) {
    Print(StrCat("found ", found.missing.size(), " that the book lacks, in ",
                 found.looked_at, " of ", found.pairs, " pairs of ",
                 found.expressions, " expressions",
                 found.complete ? "\n" : "; not all were looked at\n"));
  }
  return kExitOk;
}

void AddFindFlags(CLI::App& sub, Flags* flags) {
  sub.add_option("--operators", flags->find.operators, "of a program, at most")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  sub.add_option("--results", flags->find.results,
                 "of a program: 1, what is equal and not derived; 2, what is "
                 "cheaper where two results share work, and not reached")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  sub.add_option("--kinds", flags->find.kinds,
                 "of operators, the first ones of the list")
      ->check(CLI::Range(1, static_cast<int>(opt::FindOperators().size())))
      ->capture_default_str();
  sub.add_option("--inputs", flags->find.inputs, "of an expression")
      ->check(CLI::Range(1, static_cast<int>(opt::FindInputs().size())))
      ->capture_default_str();
  sub.add_option("--seed", flags->find.seed, "of the data, and of the slice")
      ->capture_default_str();
  sub.add_option("--one-of", flags->find.one_of, "look at one of so many pairs")
      ->check(WholeNumber(1))
      ->capture_default_str();
  sub.add_option("--state", flags->state,
                 "keeps what was looked at, and goes on from there")
      ->type_name("FILE");
  sub.add_option("--seconds", flags->seconds, "ends after so long")
      ->check(NonNegativeNumber())
      ->capture_default_str();
}

struct Verb {
  const char* name;
  const char* summary;
  StatusOr<int> (*run)(Flags& flags);
};
constexpr Verb kVerbs[] = {
    {"list", "the rules of the book, or of a file: name, tag, algebra", List},
    {"check",
     "tries the rules of the book, or of a file, on random graphs, and shows "
     "the smallest on which one is wrong",
     Check},
    {"find",
     "looks for identities that the book lacks: enumerates expressions, and "
     "prints pairs that are equal and that no rules make so",
     Find},
};

void AddVerb(const Verb& verb, CLI::App& app, Flags* flags) {
  CLI::App* const sub = app.add_subcommand(verb.name, verb.summary);
  if (verb.run == Find) {
    AddFindFlags(*sub, flags);
  } else {
    sub->add_option(
        "FILE", flags->file,
        "rules as opt/rules/README.md says; the book, unless given");
  }
  if (verb.run == Check) {
    sub->add_option("--graphs", flags->check.graphs,
                    "on how many graphs each is tried")
        ->check(WholeNumber(1))
        ->capture_default_str();
    sub->add_option("--seed", flags->check.seed, "of the graphs and the data")
        ->capture_default_str();
  }
  flags->json.AddFlagWithFile(*sub);
  sub->footer(
      "Exit codes: 0 ok, 1 a rule is wrong, 2 unusable input or arguments, 3 "
      "an internal error.");
}

}  // namespace

int RulesMain(int argc, char** argv) {
  CLI::App app("List, check and find rewrite rules.", "encore rules");
  app.require_subcommand(1);
  Flags flags;
  for (const Verb& verb : kVerbs) AddVerb(verb, app, &flags);
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  if (const Status ready = flags.json.Open(); !ready.ok()) {
    return Fail(app, ready);
  }
  for (const Verb& verb : kVerbs) {
    if (!app.got_subcommand(verb.name)) continue;
    const StatusOr<int> exit_code = verb.run(flags);
    if (!exit_code.ok()) return Fail(app, exit_code.status());
    const Status written = flags.json.status();
    return written.ok() ? *exit_code : Fail(app, written);
  }
  return kExitUnusableInput;
}

}  // namespace encore::tools
