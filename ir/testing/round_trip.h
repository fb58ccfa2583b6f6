// The round-trip laws, for tests over whatever graphs they have.
#ifndef ENCORE_IR_TESTING_ROUND_TRIP_H_
#define ENCORE_IR_TESTING_ROUND_TRIP_H_

#include <optional>
#include <string>

#include "encore/ir/graph/graph.h"

namespace encore {

// The first law that does not hold for the graph, in words:
//   parse(print(g)) == g, and print(parse(t)) == t for t = print(g);
//   from_proto(to_proto(g)) == g, and the same bytes again;
//   stencil(read_stencil(s)) == s for s = stencil(g);
//   read_stencil(s) has the nodes of g in their order for s = stencil(g) as is.
std::optional<std::string> BrokenLaw(const Graph& graph);

}  // namespace encore

#endif  // ENCORE_IR_TESTING_ROUND_TRIP_H_
