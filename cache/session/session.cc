#include "encore/cache/session/session.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "encore/cache/session/prepared_weights.h"
#include "encore/cache/session/session_request.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// Other measurements under the same key may give other forms of the weights.
Digest WeightsKeyOf(const Compiled& compiled) {
  if (compiled.measurements.empty()) return compiled.key;
  return Sha256Of(StrCat(compiled.key.ToHex(), compiled.measurements));
}

}  // namespace

Session::Session(SessionOptions options, runtime::ThreadPool* threads)
    : options_(std::move(options)),
      threads_(threads),
      maker_(&options_, threads),
      prefetcher_(&options_, &maker_),
      graphs_(&options_, &maker_, &prefetcher_, &writes_),
      writes_(options_.write_behind) {}

void Session::Anticipate(const std::string& source) {
  prefetcher_.Start(source);
}

StatusOr<std::shared_ptr<const Loaded>> Session::Load(
    const Graph& graph, const LoadOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ENCORE_ASSIGN_OR_RETURN(const SessionRequest request,
                          MakeSessionRequest(graph, options_, options));
  const auto before = graphs_.FromMemory(request);
  ENCORE_ASSIGN_OR_RETURN(const CompiledPtr compiled,
                          graphs_.GetOrCompile(request, options.source));
  prefetcher_.Remember(options.source, request, &writes_);
  const FoundIn found_in =
      before == compiled ? FoundIn::kMemory : compiled->found_in;
  if (options_.check && found_in != FoundIn::kCompiled) {
    ENCORE_RETURN_IF_ERROR(graphs_.Check(request, *compiled));
  }
  ENCORE_RETURN_IF_ERROR(request.parameters_status);
  const bool keep =
      !request.ingredients.unkeyable && compiled->origin == CodeOrigin::kOwn;
  ENCORE_ASSIGN_OR_RETURN(
      PreparedWeights prepared,
      GetWeights(compiled->executable, WeightsKeyOf(*compiled),
                 request.parameters, {options.files, options_.verify},
                 keep ? options_.disk.get() : nullptr, threads_, &writes_));
  graphs_.Count(prepared);
  auto loaded = std::make_shared<const Loaded>(
      compiled, std::move(prepared.weights), request.names, found_in, threads_,
      prepared.digest);
  const std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - begin;
  graphs_.AddLoadTime(time.count());
  return loaded;
}

StatusOr<std::vector<Literal>> Session::Run(const Graph& graph,
                                            std::span<const Literal> inputs) {
  LoadOptions options;
  SymbolBinding binding(graph.symbols());
  size_t i = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    if (i == inputs.size()) {
      return InvalidArgumentError(StrCat("no value for input ", argument.name));
    }
    ENCORE_RETURN_IF_ERROR(binding.Bind(StrCat("input ", argument.name),
                                        graph.shape(argument.value),
                                        inputs[i].dims()));
    ++i;
  }
  for (uint32_t symbol = 0; symbol < graph.symbols().size(); ++symbol) {
    options.sizes.push_back(binding.value(symbol));
  }
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, Load(graph, options));
  return loaded->Run(inputs);
}

}  // namespace encore::cache
