// Text to graph (grammar in ir/README.md).
#ifndef ENCORE_IR_TEXT_PARSER_H_
#define ENCORE_IR_TEXT_PARSER_H_

#include <cstdint>
#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

struct ParseOptions {
  // The bytes that constants given by one repeated element may take together.
  int64_t max_repeated_bytes = int64_t{1} << 30;
};

// The graph that `text` describes. InvalidArgument, "line:column: expected …,
// found …" or what is wrong with the node there, for anything else. Any text is
// safe: memory is bounded by its size and the options, nesting by
// kMaxBodyDepth and kMaxDimDepth. A symbol that is not declared is, where an
// argument's type first uses it, one without bounds.
StatusOr<Graph> ParseGraph(std::string_view text,
                           const ParseOptions& options = {});

}  // namespace encore

#endif  // ENCORE_IR_TEXT_PARSER_H_
