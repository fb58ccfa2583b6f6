// Version upgrades: a node of an old opset rewritten as the newest opset says
// it.
//
// Each step turns one operator of opset n into that of opset n + 1 (or of the
// next opset that changed it), so that an operator has one converter, whatever
// the model's opset. What an old form has no equivalent for stays as an
// attribute of ours, whose name begins with "encore." and which the converter
// knows.
//
// Source: https://github.com/onnx/onnx/blob/main/docs/Changelog.md
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_UPGRADE_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_UPGRADE_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The newest opset of the default domain whose operators the converters know.
inline constexpr int64_t kNewestOpset = 28;

// What upgraded nodes refer to: names and tensors that the model does not have.
struct UpgradeStore {
  std::deque<std::string> names;
  // Constant inputs that steps made from attributes.
  std::deque<Tensor> tensors;
};

// Upgrades a node of the default domain from `opset` to kNewestOpset.
// InvalidArgument where an attribute that a step reads is of another type than
// the standard says.
Status UpgradeNode(int64_t opset, Node* node, UpgradeStore* store);

// The opsets before which the operator has a form that a step upgrades,
// ascending.
std::vector<int64_t> UpgradedAt(std::string_view op_type);

// Every operator that has a step, sorted.
std::vector<std::string_view> UpgradedOps();

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_UPGRADE_H_
