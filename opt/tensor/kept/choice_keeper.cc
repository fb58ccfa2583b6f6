#include "encore/opt/tensor/kept/choice_keeper.h"

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_printer.h"

namespace encore::opt {
namespace {

std::optional<std::string> IdentityOf(const ImproveOptions& options,
                                      const Costs& costs) {
  if (options.kept == nullptr || options.observer != nullptr ||
      options.filter != nullptr) {
    return std::nullopt;
  }
  const std::optional<std::string> nodes = costs.NodeIdentity();
  if (!nodes) return std::nullopt;
  const ImproveLimits& limits = options.limits;
  ByteWriter out;
  out.String(RuleBookDigest());
  out.Byte(static_cast<uint8_t>(options.level));
  out.String(PrintRules(options.user_rules));
  for (const uint64_t limit :
       {uint64_t{limits.nodes_per_node}, uint64_t{limits.more_nodes},
        uint64_t{limits.iterations}, uint64_t{limits.matches},
        limits.extraction_work, std::bit_cast<uint64_t>(limits.user_nodes),
        uint64_t{limits.user_iterations}}) {
    out.Varint(limit);
  }
  out.String(*nodes);
  return out.Take();
}

// In front of what is kept: whatever changed it, or put it under another key,
// is noticed without reading it.
Digest SealOf(std::string_view key, std::string_view contents) {
  Sha256 hash;
  hash.Update(key);
  hash.Update(contents);
  return hash.Finish();
}

std::optional<std::string_view> Unseal(std::string_view key,
                                       std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const std::string_view seal = in.Raw(Digest().bytes.size());
  const std::string_view contents = in.Raw(in.remaining());
  if (seal.empty() || seal != SealOf(key, contents).view()) return std::nullopt;
  return contents;
}

}  // namespace

StatusOr<std::optional<ChoicesOfGraph::Recalled>> ChoicesOfGraph::Recall(
    const Terms& terms, const Graph& to) {
  const auto bytes = store_->Get(graph_.key());
  const auto contents = bytes ? Unseal(graph_.key(), *bytes) : std::nullopt;
  if (!contents) return std::nullopt;
  auto kept = KeptChoices::Decode(*contents);
  if (!kept.ok()) return std::nullopt;
  Recalled recalled{.best = {.bound = kept->own_seconds},
                    .own_seconds = kept->own_seconds,
                    .figures = kept->figures};
  if (!kept->changed) return recalled;
  const CandidateOf candidate_of =
      [&](const ChoiceId& id) -> StatusOr<Candidate> {
    const auto it = kept->choices.find(id);
    if (it == kept->choices.end()) return NotFoundError("not among the kept");
    const KeptChoices::Choice& choice = it->second;
    Candidate candidate{.cost = choice.cost, .bound = choice.bound};
    if (choice.graph.empty()) return candidate;
    ENCORE_ASSIGN_OR_RETURN(candidate.graph,
                            graph_.Read(choice.graph, to.NewBody("")));
    return candidate;
  };
  auto best = TakeBest(terms, candidate_of);
  if (best.status().code() == StatusCode::kDataLoss) return std::nullopt;
  if (best.status().code() == StatusCode::kNotFound) {
    choices_ = *std::move(kept);
    return std::nullopt;
  }
  ENCORE_RETURN_IF_ERROR(best.status());
  recalled.best = std::move(best->candidate);
  return recalled;
}

void ChoicesOfGraph::Saturated(double own_seconds,
                               const SaturationFigures& figures, bool changed) {
  choices_.changed = changed;
  choices_.own_seconds = own_seconds;
  choices_.figures = figures;
}

void ChoicesOfGraph::Add(const ChoiceId& id, const Candidate& candidate) {
  KeptChoices::Choice choice{
      .cost = candidate.cost, .bound = candidate.bound, .graph = {}};
  if (candidate.graph) {
    auto graph = graph_.Write(*candidate.graph);
    if (!graph) return;
    choice.graph = *std::move(graph);
  }
  choices_.choices[id] = std::move(choice);
}

void ChoicesOfGraph::Keep() const {
  if (choices_.changed && choices_.choices.empty()) return;
  const std::string contents = choices_.Encode();
  const std::string bytes =
      StrCat(SealOf(graph_.key(), contents).view(), contents);
  store_->Put(graph_.key(), std::as_bytes(std::span(bytes)));
}

ChoiceKeeper::ChoiceKeeper(const ImproveOptions& options, const Costs& costs)
    : store_(options.kept), identity_(IdentityOf(options, costs)) {}

std::optional<ChoicesOfGraph> ChoiceKeeper::Open(const Graph& graph) const {
  if (!identity_) return std::nullopt;
  auto kept = KeptGraph::Of(graph, *identity_);
  if (!kept) return std::nullopt;
  return std::optional<ChoicesOfGraph>(std::in_place, *std::move(kept), store_);
}

}  // namespace encore::opt
