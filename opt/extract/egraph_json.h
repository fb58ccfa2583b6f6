// Reads e-graphs in the JSON form of extraction-gym (egraph-serialize) and
// writes what was extracted from them.
//
//   {"nodes": {"<node>": {"eclass": "<class>", "cost": 1.5,
//                         "children": ["<node>", ...]}, ...},
//    "root_eclasses": ["<class>", ...]}
//
// A child names a node and means its class; `cost` is 1 and `children` empty
// where absent; roots that are no class are dropped. Other fields are skipped.
#ifndef ENCORE_OPT_EXTRACT_EGRAPH_JSON_H_
#define ENCORE_OPT_EXTRACT_EGRAPH_JSON_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

struct NamedProblem {
  Problem problem;
  std::vector<std::string> class_names;
  std::vector<std::string> node_names;
};

// An error names the line and the byte, or the node at fault. Memory is
// proportional to the text; nesting does not recurse.
StatusOr<NamedProblem> ParseEgraphJson(std::string_view text);

// The same from a file; errors begin with the path.
StatusOr<NamedProblem> ReadEgraphJson(const std::string& path);

// The text of a problem that ParseEgraphJson reads as the same problem, but for
// groups, and for nodes that cannot be chosen because of a child's class
// without nodes. `ops`: by node, what it is for people, the "op" of
// egraph-serialize. REQUIRES names by class and by node that differ, finite
// costs, and ops.size() == num_nodes(). Linear.
std::string EgraphJson(const NamedProblem& named,
                       std::span<const std::string> ops);

// One result as a JSON object: file, status, cost, lower_bound, optimal,
// choices (of the reachable classes), and the seconds it took where given.
std::string ResultJson(std::string_view file, const NamedProblem& named,
                       const Result& result, std::optional<double> seconds);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_EGRAPH_JSON_H_
