#include "encore/backends/lowering/kernels.h"

#include <algorithm>
#include <functional>

#include "encore/backends/kernel_binary.h"
#include "encore/backends/lowering/paired_times.h"
#include "encore/backends/lowering/tuner.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

constexpr size_t kMostAnswerBytes = 64 << 20;

bool IsOf(const Measurement& measurement,
          std::span<const Candidate> candidates) {
  return std::equal(measurement.timings.begin(), measurement.timings.end(),
                    candidates.begin(), candidates.end(),
                    [](const auto& timing, const Candidate& candidate) {
                      return timing.kernel == candidate.kernel;
                    });
}

}  // namespace

std::vector<Symbol> KernelTable::SymbolsOf(const BuiltRegion& built) const {
  std::vector<Symbol> symbols;
  for (const Dim& arg : built.args) symbols.push_back(symbols_[*arg.symbol()]);
  return symbols;
}

KernelTable::RequestKey KernelTable::KeyOf(const Region& region,
                                           const std::vector<bool>& weights,
                                           std::span<const Symbol> symbols,
                                           int backend) {
  RequestKey key = EncodeRegion(region);
  for (const bool weight : weights) key.push_back(std::byte(weight));
  for (const Symbol& symbol : symbols) {
    for (const char c : StrCat(symbol.lower, "-", symbol.upper, ";")) {
      key.push_back(std::byte(c));
    }
  }
  key.push_back(std::byte(backend));
  return key;
}

const KernelTable::Answer& KernelTable::Ask(const RequestKey& key,
                                            const KernelRequest& request,
                                            int backend) {
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  if (answer_bytes_ + key.size() > kMostAnswerBytes) {
    answers_.clear();
    answer_bytes_ = 0;
  }
  answer_bytes_ += key.size();
  Answer answer;
  for (Candidate& candidate :
       placement_.backends[backend]->Candidates(request, options_)) {
    const bool relaid = !candidate.inputs.empty() || !candidate.outputs.empty();
    (relaid ? answer.relaid : answer.candidates)
        .push_back(std::move(candidate));
  }
  return answers_.emplace(key, std::move(answer)).first->second;
}

const KernelTable::Answer& KernelTable::Ask(const BuiltRegion& built,
                                            const std::vector<bool>& weights,
                                            int backend) {
  const std::vector<Symbol> symbols = SymbolsOf(built);
  return Ask(KeyOf(built.region, weights, symbols, backend),
             {&built.region, weights, symbols}, backend);
}

std::optional<double> KernelTable::Seconds(const BuiltRegion& built,
                                           const std::vector<bool>& weights,
                                           int backend) {
  const Answer& answer = Ask(built, weights, backend);
  if (answer.candidates.empty()) return std::nullopt;
  return SecondsOf(answer.candidates[0], built.region);
}

double KernelTable::SecondsOf(const Candidate& candidate,
                              const Region& region) const {
  double seconds = CallSeconds(candidate, options_);
  if (options_.memory == 0 || region.symbols > 0) return seconds;
  for (const Operand& output : region.outputs) {
    const Dim bytes = MemoryBytes(output.dtype, output.dims, output.layout);
    seconds += MemorySeconds(static_cast<double>(bytes.constant()), options_);
  }
  return seconds;
}

std::vector<Candidate> KernelTable::InOtherLayouts(
    const BuiltRegion& built, const std::vector<bool>& weights, int backend) {
  return Ask(built, weights, backend).relaid;
}

std::optional<int> KernelTable::Add(const BuiltRegion& built,
                                    const std::vector<bool>& weights,
                                    int backend) {
  std::vector<Symbol> symbols = SymbolsOf(built);
  RequestKey key = KeyOf(built.region, weights, symbols, backend);
  if (const auto it = numbers_.find(key); it != numbers_.end()) {
    ++entries_[it->second]->uses;
    return it->second;
  }
  std::vector<Candidate> candidates =
      Ask(key, {&built.region, weights, symbols}, backend).candidates;
  if (candidates.empty()) return std::nullopt;
  auto entry = std::make_unique<Entry>();
  entry->region = built.region;
  entry->weights = weights;
  entry->symbols = std::move(symbols);
  entry->backend = backend;
  std::erase_if(candidates, [most = kWorthTiming * candidates[0].seconds](
                                const Candidate& candidate) {
    return candidate.seconds > most;
  });
  entry->candidates = std::move(candidates);
  const int number = static_cast<int>(entries_.size());
  entries_.push_back(std::move(entry));
  numbers_.emplace(std::move(key), number);
  return number;
}

size_t KernelTable::BestFor(const Entry& entry, Measurement measured) const {
  const double calls = CallsPerLoad(options_);
  for (size_t i = 0; i < entry.candidates.size(); ++i) {
    // Memory counts in each call, load in one.
    measured.timings[i].load_seconds +=
        calls *
        MemorySeconds(static_cast<double>(entry.candidates[i].memory_bytes),
                      options_);
  }
  return BestOf(measured, calls);
}

std::string KernelTable::MeasurementKeyOf(const Entry& entry) const {
  return MeasurementKey(*placement_.backends[entry.backend], RequestOf(entry),
                        entry.candidates, options_);
}

std::vector<KernelTable::Entry*> KernelTable::ChooseKnown(
    ArtifactStore* store) {
  std::vector<Entry*> unknown;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->candidates.size() < 2 || entry->region.symbols > 0) continue;
    const auto bytes = store == nullptr ? std::nullopt
                                        : store->Get(kMeasurementKind,
                                                     MeasurementKeyOf(*entry));
    const auto known = bytes ? DecodeMeasurement(*bytes) : std::nullopt;
    if (known && IsOf(*known, entry->candidates)) {
      entry->chosen = BestFor(*entry, *known);
    } else {
      unknown.push_back(entry.get());
    }
  }
  return unknown;
}

bool KernelTable::Choose(ArtifactStore* store) {
  const std::vector<Entry*> unknown = ChooseKnown(store);
  if (unknown.empty()) return true;
  if (options_.tune_seconds <= 0) return false;
  // By estimated share of the time; equal ones in their order.
  std::multimap<double, Entry*, std::greater<>> by_share;
  for (Entry* entry : unknown) {
    by_share.emplace(entry->candidates[0].seconds * entry->uses, entry);
  }
  const auto deadline = DeadlineIn(options_.tune_seconds);
  Tuner tuner(options_);
  for (const auto& [share, entry] : by_share) {
    if (Tuner::Clock::now() >= deadline) return false;
    const Backend& backend = *placement_.backends[entry->backend];
    const auto measured =
        tuner.Measure(backend, RequestOf(*entry), entry->candidates, deadline);
    if (!measured) continue;
    entry->chosen = BestFor(*entry, *measured);
    if (store == nullptr) continue;
    const std::string bytes = EncodeMeasurement(*measured);
    store->Put(kMeasurementKind, MeasurementKeyOf(*entry),
               std::as_bytes(std::span(bytes)));
  }
  return Tuner::Clock::now() < deadline;
}

Status KernelTable::Compile(ArtifactStore* store,
                            runtime::CompiledGraph* graph) {
  for (size_t b = 0; b < placement_.backends.size(); ++b) {
    ENCORE_RETURN_IF_ERROR(CompileFor(static_cast<int>(b), store, graph));
  }
  return OkStatus();
}

Status KernelTable::CompileFor(int backend, ArtifactStore* store,
                               runtime::CompiledGraph* graph) {
  std::vector<CompileRequest> requests;
  std::vector<Entry*> entries;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->backend != backend) continue;
    requests.push_back({RequestOf(*entry), entry->candidates[entry->chosen]});
    entries.push_back(entry.get());
  }
  if (requests.empty()) return OkStatus();
  const Backend& compiler = *placement_.backends[backend];
  ENCORE_ASSIGN_OR_RETURN(CompiledModule module,
                          compiler.Compile(requests, options_, store));
  ENCORE_CHECK_EQ(module.kernels.size(), requests.size());
  std::vector<runtime::BlobId> blobs;
  for (const Artifact& artifact : module.artifacts) {
    blobs.push_back(runtime::AddBlob(
        graph, runtime::Blob::Copy(artifact.bytes, artifact.executable)));
  }
  const auto add = [&](const KernelCode& code, const LaunchShape& shape) {
    runtime::KernelBinary binary = KernelBinaryOf(compiler.name(), code, shape);
    if (code.artifact >= 0) binary.artifact = blobs[code.artifact];
    return runtime::AddKernelBinary(graph, std::move(binary));
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = *entries[i];
    entry.compiled = std::move(module.kernels[i]);
    entry.binary =
        add(entry.compiled.code, ShapeOfLaunch(entry.region, entry.compiled));
    for (const PackedInput& packed : entry.compiled.packed) {
      const KernelCode& code = packed.code;
      const std::string key = StrCat(
          backend, " ", code.artifact, " ", code.entry, " ",
          std::string_view(reinterpret_cast<const char*>(code.params.data()),
                           code.params.size()));
      const auto it = packers_.find(key);
      entry.packers.push_back(
          it != packers_.end() ? it->second : add(code, kShapeOfPacking));
      packers_.emplace(key, entry.packers.back());
    }
  }
  return OkStatus();
}

}  // namespace encore::backends
