#include "encore/opt/tensor/check/check_rule.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/literal_text.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/tensor/check/apply_rule.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/check/compare_sides.h"
#include "encore/opt/tensor/check/instantiate.h"

namespace encore::opt {
namespace {

// With so many data a smaller graph is tried: the wrong element may need a
// special one.
constexpr int kDataPerGraph = 6;
// Of a rule for many operators.
constexpr int kGraphsPerOperator = 10;
// More elements do not make a value larger.
constexpr int64_t kMostElements = 1 << 16;

// How large an instance is: what is first counts most.
using Size = std::tuple<int64_t, size_t, size_t, int>;

Size SizeOf(const Graph& graph) {
  int64_t elements = 0;
  int dtypes = 0;
  for (uint32_t v = 0; v < graph.value_count(); ++v) {
    const TensorType& type = graph.type(ValueId(v));
    int64_t count = 1;
    for (const Dim& dim : type.shape.dims()) {
      count *= dim.LowerBound(graph.symbols());
    }
    elements += std::min(count, kMostElements);
    dtypes += type.dtype != DType::kF32;
  }
  return {elements, graph.symbols().size(), Print(graph).size(), dtypes};
}

// One graph on which the rule fires, and what became of it.
struct Attempt {
  Graph graph;
  RuleApplication application;
};

// Tries one rule.
class Checker {
 public:
  Checker(const TextRule& rule, const RuleCheckOptions& options)
      : rule_(rule), options_(options) {
    verdict_.rule = rule.name;
    verdict_.tag = rule.tag;
  }

  RuleVerdict Run() && {
    const Status status = Draw();
    if (!status.ok()) {
      verdict_.refusal = Message(status);
    } else if (!verdict_.failure && verdict_.applications < options_.graphs) {
      verdict_.refusal = StrCat(
          "rule ", rule_.name, ": it fired on ", verdict_.applications,
          " random graphs, ", options_.graphs,
          " are needed to try it; its left side or its conditions are too "
          "narrow, or of operators that are not drawn "
          "(opt/tensor/check/attribute_draws.h)");
    } else if (!verdict_.failure && verdict_.compared == 0) {
      verdict_.refusal =
          StrCat("rule ", rule_.name, ": no result of it could be compared");
    }
    return std::move(verdict_);
  }

 private:
  // Each operator of the range in turn, until the rule fired often enough, or
  // failed.
  Status Draw() {
    std::mt19937_64 random(options_.seed);
    if (rule_.range.empty()) return Draw(rule_, options_.graphs, &random);
    const auto count = static_cast<int>(rule_.range.size());
    const int share = std::max(options_.graphs / count + 1, kGraphsPerOperator);
    TextRule one = rule_;
    for (const Op op : rule_.range) {
      one.range = {op};
      ENCORE_RETURN_IF_ERROR(Draw(one, share, &random));
      if (verdict_.failure) break;
    }
    return OkStatus();
  }

  // REQUIRES a range that is empty or of one operator.
  Status Draw(const TextRule& rule, int graphs, std::mt19937_64* random) {
    const int operators =
        std::max<int>(1, static_cast<int>(rule_.range.size()));
    int fired = 0;
    for (int i = 0; i < options_.draws / operators && fired < graphs; ++i) {
      if (fired == 0 && i > options_.idle_draws / operators) break;
      Choices choices((*random)());
      const uint64_t data_seed = (*random)();
      ENCORE_ASSIGN_OR_RETURN(const auto attempt,
                              Try(rule, Instantiate(rule, &choices)));
      if (!attempt) continue;
      ++fired;
      ++verdict_.applications;
      verdict_.symbolic += !attempt->graph.symbols().empty();
      Choices data(data_seed);
      bool compared = false;
      const std::string reason = ReasonOf(*attempt, &data, &compared);
      verdict_.compared += compared;
      if (reason.empty()) continue;
      MakeSmaller(rule, choices.made(), data_seed);
      return OkStatus();
    }
    return OkStatus();
  }

  // Nothing where the rule does not fire.
  StatusOr<std::optional<Attempt>> Try(const TextRule& rule,
                                       std::optional<Graph> graph) const {
    if (!graph) return std::nullopt;
    ENCORE_ASSIGN_OR_RETURN(RuleApplication application,
                            ApplyRule(rule, *graph));
    if (!application.fired) return std::nullopt;
    return Attempt{*std::move(graph), std::move(application)};
  }

  // What is wrong with the attempt on these data; empty where nothing is.
  std::string ReasonOf(const Attempt& attempt, Choices* data,
                       bool* compared = nullptr) const {
    if (!attempt.application.fault.empty()) return attempt.application.fault;
    const Graph& graph = attempt.graph;
    const auto result =
        CompareSides(graph, *attempt.application.after, rule_.tag,
                     DrawArguments(graph, rule_.tag, data));
    if (!result.ok()) return Message(result.status());
    if (compared != nullptr) *compared = result->compared;
    return result->difference;
  }

  // A failure while it is made smaller.
  struct Failing {
    std::vector<int64_t> choices;  // of the graph
    std::vector<int64_t> data;     // of its arguments
    Attempt attempt;
    Size size;
  };

  // Sets the verdict's failure to the smallest that is found.
  void MakeSmaller(const TextRule& rule, std::vector<int64_t> choices,
                   uint64_t data_seed) {
    std::optional<Failing> best;
    const auto accept = [&](std::vector<int64_t>* smaller) {
      auto failing = Smaller(rule, *smaller, data_seed, best);
      if (!failing) return false;
      best = *std::move(failing);
      *smaller = best->choices;
      return true;
    };
    if (!accept(&choices)) return;  // not reached: it failed a moment ago
    // Simple data show which number it takes, which smaller graphs may have
    // everywhere.
    for (int i = 0; i < 2; ++i) {
      Shrink(best->choices, options_.smaller_graphs / 2, accept);
      SimplifyData(&*best);
    }
    Finish(*std::move(best));
  }

  // The failure that the choices give; nothing where there is none, or it is
  // not smaller than the best one.
  std::optional<Failing> Smaller(const TextRule& rule,
                                 const std::vector<int64_t>& choices,
                                 uint64_t data_seed,
                                 const std::optional<Failing>& best) const {
    Choices replay(choices);
    std::optional<Graph> graph = Instantiate(rule, &replay);
    if (!graph) return std::nullopt;
    const Size size = SizeOf(*graph);
    if (best && !(size < best->size ||
                  (size == best->size && replay.made() < best->choices))) {
      return std::nullopt;
    }
    auto attempt = Try(rule, std::move(graph));
    if (!attempt.ok() || !attempt->has_value()) return std::nullopt;
    auto data = WrongData(**attempt, data_seed, best);
    if (!data) return std::nullopt;
    return Failing{replay.made(), *std::move(data), **std::move(attempt), size};
  }

  // The choices of data on which it fails: those of the best failure, or
  // others.
  std::optional<std::vector<int64_t>> WrongData(
      const Attempt& attempt, uint64_t seed,
      const std::optional<Failing>& best) const {
    if (best) {
      const Graph& like = best->attempt.graph;
      for (const std::vector<int64_t>& given :
           {SplatChoices(like, best->data, rule_.tag, attempt.graph),
            best->data}) {
        Choices data(given);
        if (!ReasonOf(attempt, &data).empty()) return data.made();
      }
    }
    for (int i = 0; i < kDataPerGraph; ++i) {
      Choices data(seed + static_cast<uint64_t>(i));
      if (!ReasonOf(attempt, &data).empty()) return data.made();
    }
    return std::nullopt;
  }

  void SimplifyData(Failing* failing) const {
    if (!failing->attempt.application.fault.empty()) return;
    failing->data =
        Shrink(failing->data, options_.simpler_data,
               [&](std::vector<int64_t>* simpler) {
                 Choices replay(*simpler);
                 return !ReasonOf(failing->attempt, &replay).empty();
               });
  }

  void Finish(Failing failing) {
    Choices again(failing.data), data(failing.data);
    std::string reason = ReasonOf(failing.attempt, &again);
    std::vector<Literal> arguments;
    if (failing.attempt.application.fault.empty()) {
      arguments = DrawArguments(failing.attempt.graph, rule_.tag, &data);
    }
    verdict_.failure =
        RuleFailure{.reason = std::move(reason),
                    .before = std::move(failing.attempt.graph),
                    .after = std::move(failing.attempt.application.after),
                    .arguments = std::move(arguments)};
  }

  const TextRule& rule_;
  const RuleCheckOptions& options_;
  RuleVerdict verdict_;
};

}  // namespace

RuleVerdict CheckRule(const TextRule& rule, const RuleCheckOptions& options) {
  return Checker(rule, options).Run();
}

std::vector<RuleVerdict> CheckRules(std::span<const TextRule> rules,
                                    const RuleCheckOptions& options) {
  std::vector<RuleVerdict> verdicts;
  for (const TextRule& rule : rules) {
    verdicts.push_back(CheckRule(rule, options));
  }
  return verdicts;
}

Status RuleVerdict::ToStatus() const {
  if (right()) return OkStatus();
  if (!refusal.empty()) return InvalidArgumentError(refusal);
  return InvalidArgumentError(
      StrCat("rule ", rule, " (", Name(tag), ") is wrong: ", Print(*failure)));
}

std::string Print(const RuleFailure& failure) {
  std::string out = StrCat(failure.reason, "\n");
  for (size_t i = 0; i < failure.arguments.size(); ++i) {
    const Graph::Argument& argument = failure.before.arguments()[i];
    if (argument.name == kExtentsArgument) {
      StrAppend(&out, "sizes ", failure.arguments[i].shape().ToString({}),
                "\n");
      continue;
    }
    StrAppend(&out, "%", argument.name, " = ");
    text::AppendLiteral(&out, failure.arguments[i]);
    StrAppend(&out, "\n");
  }
  StrAppend(&out, "before:\n", Print(failure.before));
  if (failure.after) StrAppend(&out, "after:\n", Print(*failure.after));
  return out;
}

}  // namespace encore::opt
