// Values of a graph's symbols, found from the extents of what it is called
// with.
#ifndef ENCORE_IR_GRAPH_SYMBOL_BINDING_H_
#define ENCORE_IR_GRAPH_SYMBOL_BINDING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"

namespace encore {

class SymbolBinding {
 public:
  // No symbol has a value.
  explicit SymbolBinding(std::span<const Symbol> symbols);

  // Makes `shape` equal to `dims`: binds symbols that stand alone in a dim (or
  // in c * symbol + d), and checks everything else once its symbols are bound.
  // InvalidArgument where extents or bounds do not fit; `what` ("input x")
  // begins the message.
  Status Bind(std::string_view what, const Shape& shape,
              std::span<const int64_t> dims);
  Status BindSymbol(uint32_t symbol, int64_t value);

  std::optional<int64_t> value(uint32_t symbol) const {
    return values_[symbol];
  }
  // For Substitute: bound symbols as constants, the others as they are.
  std::span<const Dim> replacements() const { return replacements_; }

 private:
  std::span<const Symbol> symbols_;
  std::vector<std::optional<int64_t>> values_;
  std::vector<Dim> replacements_;
};

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_SYMBOL_BINDING_H_
