// Package: a compiled graph with its weights in one file; with calls, a
// recording.
//
// A package needs nothing else: it has the graph as a stencil, so that it can
// be compiled again where its code does not run, the compiled graph, names,
// weights and what the prepare plan made of them. A recording has the inputs
// and expected outputs of some calls too. This header sees no Graph: a program
// that only replays links it.
//
// Sections: headline, constants and their bytes, names, compiled graph,
// weights, derived, calls and tensors; see cache/README.md.
#ifndef ENCORE_CACHE_PACKAGE_PACKAGE_H_
#define ENCORE_CACHE_PACKAGE_PACKAGE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

struct Package {
  struct Names {
    std::vector<std::string> inputs, outputs, parameters;
    std::vector<std::string> origins;  // by stencil number
  };
  struct Call {
    std::vector<Literal> inputs, outputs;
  };

  // The key's ingredients, stencil included, as key.h encodes them; the key is
  // their SHA-256.
  std::string ingredients;
  // Constants that the stencil has as digests.
  std::vector<Literal> constants;
  Names names;
  std::shared_ptr<const runtime::CompiledGraph> graph;
  std::vector<Literal> parameters;
  // Bytes of the derived slots, in their order; empty where none are kept.
  std::vector<runtime::Blob> derived;
  std::vector<Call> calls;
  // Files that weights or constants lie in: of what was read, the package's
  // own; of what is to be written, those that must not have changed since.
  MappedFiles files;

  Digest key() const { return Sha256Of(ingredients); }
};

// In case of an error the file is as it was. FailedPrecondition where one of
// package.files changed since it was opened: what was derived from it and its
// own bytes might then be of two states.
Status WritePackage(const Package& package, const std::string& path);

// Every section is verified; weights, constants and derived slots stay mapped.
// DataLoss, naming the section, where the file is damaged or is no package;
// errors of Container::Open. Sizes against the graph's slots are the runtime's
// to check.
StatusOr<Package> ReadPackage(const std::string& path);
StatusOr<Package> ReadPackage(std::shared_ptr<const Container> container);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_PACKAGE_PACKAGE_H_
