// Every operator with what the other layers know of it: the backends that
// compute it and the ONNX operators that become it. All of it is asked of them.
#ifndef ENCORE_TOOLS_OPS_OP_TABLE_H_
#define ENCORE_TOOLS_OPS_OP_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"

namespace encore::tools {

struct BackendDTypes {
  std::string_view backend;
  std::vector<DType> dtypes;
};

struct OpEntry {
  const OpInfo* info = nullptr;
  // Backends that compile the operator, by itself or as its decomposition, with
  // the dtypes for which they do; those that never do are left out. For If and
  // While these are steps of the plan.
  std::vector<BackendDTypes> backends;
  // The ONNX operators that become this one, up to movement and arithmetic
  // around it.
  std::vector<std::string_view> onnx;
};

struct OnnxEntry {
  std::string_view op_type;
  // What it becomes; nothing where its nodes vanish.
  std::optional<Op> op;
  // The opsets that are read, in groups of the same form: "1-12", "13-21".
  std::vector<std::string> opsets;
};

// In the order of the table. Compiles a node of each operator and dtype for
// each backend, up to the generation of code: some tenths of a second.
std::vector<OpEntry> MakeOpTable();

// Sorted by name.
std::vector<OnnxEntry> MakeOnnxTable();

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPS_OP_TABLE_H_
