#include "encore/ir/testing/parsed_graph.h"

#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/text/parser.h"

namespace encore {

Graph ParsedGraph(std::string_view text) {
  StatusOr<Graph> graph = ParseGraph(text);
  ENCORE_CHECK(graph.ok()) << graph.status() << "\n" << text;
  return *std::move(graph);
}

}  // namespace encore
