#include "encore/backends/lowering/kernels.h"

#include "encore/backends/region/codec.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {

std::vector<Symbol> KernelTable::SymbolsOf(const BuiltRegion& built) const {
  std::vector<Symbol> symbols;
  for (const Dim& arg : built.args) symbols.push_back(symbols_[*arg.symbol()]);
  return symbols;
}

std::optional<Candidate> KernelTable::Best(const Region& region,
                                           const std::vector<bool>& weights,
                                           std::span<const Symbol> symbols,
                                           int backend) const {
  const KernelRequest request{&region, weights, symbols};
  std::vector<Candidate> candidates =
      placement_.backends[backend]->Candidates(request, options_);
  if (candidates.empty()) return std::nullopt;
  return std::move(candidates.front());
}

bool KernelTable::Accepts(const BuiltRegion& built,
                          const std::vector<bool>& weights, int backend) const {
  return Best(built.region, weights, SymbolsOf(built), backend).has_value();
}

std::optional<int> KernelTable::Add(const BuiltRegion& built,
                                    const std::vector<bool>& weights,
                                    int backend) {
  std::vector<std::byte> key = EncodeRegion(built.region);
  std::vector<Symbol> symbols = SymbolsOf(built);
  for (const bool weight : weights) key.push_back(std::byte(weight));
  for (const Symbol& symbol : symbols) {
    for (const char c : StrCat(symbol.lower, "-", symbol.upper, ";")) {
      key.push_back(std::byte(c));
    }
  }
  key.push_back(std::byte(backend));
  const auto [it, added] =
      numbers_.try_emplace(std::move(key), static_cast<int>(entries_.size()));
  if (!added) return it->second;
  std::optional<Candidate> best = Best(built.region, weights, symbols, backend);
  if (!best.has_value()) {
    numbers_.erase(it);
    return std::nullopt;
  }
  auto entry = std::make_unique<Entry>();
  entry->region = built.region;
  entry->weights = weights;
  entry->symbols = std::move(symbols);
  entry->backend = backend;
  entry->candidate = *std::move(best);
  entries_.push_back(std::move(entry));
  return it->second;
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
    requests.push_back(
        {{&entry->region, entry->weights, entry->symbols}, entry->candidate});
    entries.push_back(entry.get());
  }
  if (requests.empty()) return OkStatus();
  const Backend& compiler = *placement_.backends[backend];
  ENCORE_ASSIGN_OR_RETURN(CompiledModule module,
                          compiler.Compile(requests, options_, store));
  ENCORE_CHECK_EQ(module.kernels.size(), requests.size());
  std::vector<runtime::BlobId> blobs;
  for (const Artefact& artefact : module.artefacts) {
    blobs.push_back(runtime::AddBlob(
        graph, runtime::Blob::Copy(artefact.bytes, artefact.executable)));
  }
  const auto add = [&](const KernelProgram& kernel, size_t reads, size_t writes,
                       size_t args) {
    runtime::Program program;
    program.backend = compiler.name();
    if (kernel.artefact >= 0) program.artefact = blobs[kernel.artefact];
    program.entry = kernel.entry;
    program.params = kernel.params;
    program.requirements = kernel.requirements;
    program.reads = static_cast<uint32_t>(reads);
    program.writes = static_cast<uint32_t>(writes);
    program.args = static_cast<uint32_t>(args);
    return runtime::AddProgram(graph, std::move(program));
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = *entries[i];
    entry.compiled = std::move(module.kernels[i]);
    const bool scratch = !(entry.compiled.scratch == Dim(0));
    entry.program = add(entry.compiled.program, entry.region.inputs.size(),
                        entry.region.outputs.size() + (scratch ? 1 : 0),
                        entry.region.symbols);
    for (const PackedInput& packed : entry.compiled.packed) {
      const KernelProgram& kernel = packed.program;
      const std::string key = StrCat(
          backend, " ", kernel.artefact, " ", kernel.entry, " ",
          std::string_view(reinterpret_cast<const char*>(kernel.params.data()),
                           kernel.params.size()));
      const auto it = packers_.find(key);
      entry.packers.push_back(it != packers_.end() ? it->second
                                                   : add(kernel, 1, 1, 0));
      packers_.emplace(key, entry.packers.back());
    }
  }
  return OkStatus();
}

}  // namespace encore::backends
