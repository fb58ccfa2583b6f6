// Graphs as text in tests and benchmarks.
#ifndef ENCORE_IR_TESTING_PARSED_GRAPH_H_
#define ENCORE_IR_TESTING_PARSED_GRAPH_H_

#include <string_view>

#include "encore/ir/graph/graph.h"

namespace encore {

// The graph of `text` (parser.h). Ends the program where it has an error.
Graph ParsedGraph(std::string_view text);

}  // namespace encore

#endif  // ENCORE_IR_TESTING_PARSED_GRAPH_H_
