// Blocks of models, small, in the graph's own language.
#ifndef ENCORE_OPT_TENSOR_TESTING_MODEL_BLOCKS_H_
#define ENCORE_OPT_TENSOR_TESTING_MODEL_BLOCKS_H_

#include <span>
#include <string_view>

namespace encore::opt {

// A block of a residual network, before normalizations are folded into its
// convolutions.
inline constexpr std::string_view kResidualBlock = R"(
symbols N in [1, 8]
graph residual(%x: f32[N,8,7,7], %w: param f32[4,8,1,1], %s: param f32[4],
               %b: param f32[4], %v: param f32[8,4,3,3],
               %t: param f32[8]) -> f32[N,8,7,7] {
  %0 = convolution(%x, %w) {strides = [1,1], padding_low = [0,0], padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1]} @"conv1"
  %1 = broadcast(%s) {shape = [N,4,7,7], axes = [1]} @"bn1"
  %2 = mul(%0, %1) @"bn1"
  %3 = broadcast(%b) {shape = [N,4,7,7], axes = [1]} @"bn1"
  %4 = add(%2, %3) @"bn1"
  %5 = convolution(%4, %v) {strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]} @"conv2"
  %6 = broadcast(%t) {shape = [N,8,7,7], axes = [1]} @"bn2"
  %7 = mul(%5, %6) @"bn2"
  %y = add(%7, %x) @"shortcut"
  return %y
}
)";

// Attention, whose products share what they multiply.
inline constexpr std::string_view kAttentionBlock = R"(
symbols N in [1, 8]
graph attention(%x: f32[N,5,8], %q: param f32[8,8], %k: param f32[8,8],
                %v: param f32[8,8]) -> f32[N,5,8] {
  %0 = dot_general(%x, %q) {contract = [2]x[0]} @"query"
  %1 = dot_general(%x, %k) {contract = [2]x[0]} @"key"
  %2 = dot_general(%x, %v) {contract = [2]x[0]} @"value"
  %3 = transpose(%1) {permutation = [0,2,1]} @"scores"
  %4 = dot_general(%0, %3) {contract = [2]x[1], batch = [0]x[0]} @"scores"
  %5 = constant() {value = f32[] 0.35} @"scores"
  %6 = broadcast(%5) {shape = [N,5,5]} @"scores"
  %7 = mul(%4, %6) @"scores"
  %8 = exp(%7) @"softmax"
  %y = dot_general(%8, %2) {contract = [2]x[1], batch = [0]x[0]} @"mix"
  return %y
}
)";

// These and others: layers with gates, normalizations, cells of recurrent
// networks, heads. Each uses arguments of f32 alone.
std::span<const std::string_view> ModelBlocks();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_MODEL_BLOCKS_H_
