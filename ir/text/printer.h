// Graph to text (grammar in ir/README.md).
#ifndef ENCORE_IR_TEXT_PRINTER_H_
#define ENCORE_IR_TEXT_PRINTER_H_

#include <functional>
#include <string>

#include "encore/ir/graph/graph.h"

namespace encore {

struct PrintOptions {
  // The weight data of parameters; without it the text is that of the same
  // graph without data.
  bool parameter_data = true;
  // The type of every result.
  bool types = false;
  // A comment behind each node's line; null or empty text: none. Of one line.
  std::function<std::string(const Graph& graph, NodeId node)> note = {};
};

// The text of `graph`: parsing it gives an equal graph (equal.h), and printing
// that the same text. Values are named after the output they are, the others by
// numbers.
std::string Print(const Graph& graph, const PrintOptions& options = {});

}  // namespace encore

#endif  // ENCORE_IR_TEXT_PRINTER_H_
