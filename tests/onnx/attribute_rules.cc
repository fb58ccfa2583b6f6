#include "encore/tests/onnx/attribute_rules.h"

#include <map>
#include <set>

namespace encore::tests {

bool IsWord(std::string_view op, std::string_view attribute) {
  static const std::set<std::string_view> kNames = {
      "activations",
      "aggregate_function",
      "approximate",
      "auto_pad",
      "case_change_action",
      "cast_to",
      "coordinate_transformation_mode",
      "direction",
      "keep_aspect_ratio_policy",
      "kernel_type",
      "map_form",
      "mode",
      "nearest_mode",
      "nodes_modes",
      "norm",
      "padding_mode",
      "pixel_format",
      "post_transform",
      "reduction",
      "round_mode",
      "update_rule"};
  const bool fused = op == "FusedConv" || op == "FusedGemm";
  return kNames.contains(attribute) || (fused && attribute == "activation");
}

std::optional<int64_t> LeastValue(std::string_view op,
                                  std::string_view attribute) {
  static const std::map<std::string_view, int64_t> kLeast = {
      {"K", 1},
      {"N", 1},
      {"blocksize", 1},
      {"chunk_size", 1},
      {"dilations", 1},
      {"group", 1},
      {"hidden_size", 1},
      {"kernel_shape", 1},
      {"kv_num_heads", 1},
      {"max_gram_length", 1},
      {"max_skip_count", 0},
      {"min_gram_length", 1},
      {"num_groups", 1},
      {"num_heads", 0},
      {"num_outputs", 1},
      {"offset_group", 1},
      {"output_height", 1},
      {"output_width", 1},
      {"p", 1},
      {"pads", 0},
      {"pooled_shape", 1},
      {"q_num_heads", 1},
      {"sample_size", 1},
      {"sampling_ratio", 0},
      {"size", 1},
      {"split", 0},
      {"strides", 1}};
  if (op == "Pad") return std::nullopt;
  if (op == "MatMulNBits" && attribute == "block_size") return 16;
  if (op == "GatherBlockQuantized" && attribute == "block_size") return 0;
  if (attribute == "bits") return 1;
  const auto found = kLeast.find(attribute);
  return found == kLeast.end() ? std::nullopt : std::optional(found->second);
}

bool HasPartner(std::string_view op, std::string_view attribute) {
  static const std::set<std::string_view> kPrefixes = {
      "cats_", "class_", "keys_", "leaf_", "nodes_", "target_", "values_"};
  if (op.starts_with("TreeEnsemble") || op == "LabelEncoder" ||
      op == "CategoryMapper") {
    for (const std::string_view prefix : kPrefixes) {
      if (attribute.starts_with(prefix)) return true;
    }
  }
  return op == "LinearRegressor" && attribute == "coefficients";
}

}  // namespace encore::tests
