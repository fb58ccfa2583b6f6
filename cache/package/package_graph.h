// The graph of a package, to be compiled again.
#ifndef ENCORE_CACHE_PACKAGE_PACKAGE_GRAPH_H_
#define ENCORE_CACHE_PACKAGE_PACKAGE_GRAPH_H_

#include "encore/backends/options.h"
#include "encore/cache/package/package.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// The canonical graph (ir/graph/stencil.h) with the package's parameters as
// data. Its nodes have the package's origins and its signature the package's
// order, so that package.names are names of what is compiled from it. DataLoss
// where the file's stencil, constants or parameters are not of one graph.
StatusOr<Graph> GraphOf(const Package& package);

// The same with the package's names and origins; it has the same key. DataLoss
// too where a name stands twice.
StatusOr<Graph> NamedGraphOf(const Package& package);

// The options that the package was compiled with, as far as its key says them,
// for the backend that its plan is for. DataLoss where the key is malformed.
StatusOr<backends::CompileOptions> OptionsOf(const Package& package);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_PACKAGE_PACKAGE_GRAPH_H_
