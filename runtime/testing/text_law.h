// The laws of a compiled graph's text.
#ifndef ENCORE_RUNTIME_TESTING_TEXT_LAW_H_
#define ENCORE_RUNTIME_TESTING_TEXT_LAW_H_

#include <string>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// What is wrong with the text of `graph`, or an empty string: reading it, with
// the graph's blobs as the source, gives a graph of the same bytes
// (compiled_graph_io.h), and printing that the same text.
std::string BrokenTextLaw(const CompiledGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_TEXT_LAW_H_
