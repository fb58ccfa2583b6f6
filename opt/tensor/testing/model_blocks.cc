#include "encore/opt/tensor/testing/model_blocks.h"

namespace encore::opt {
namespace {

constexpr std::string_view kGatedLayer = R"(
symbols N in [1, 64]
graph gated(%x: f32[N,24], %gate: param f32[24,40], %up: param f32[24,40],
            %down: param f32[40,24]) -> f32[N,24] {
  %0 = dot_general(%x, %gate) {contract = [1]x[0]} @"gate"
  %1 = dot_general(%x, %up) {contract = [1]x[0]} @"up"
  %2 = logistic(%0) @"act"
  %3 = mul(%0, %2) @"act"
  %4 = mul(%3, %1) @"mul"
  %5 = dot_general(%4, %down) {contract = [1]x[0]} @"down"
  %y = add(%5, %x) @"shortcut"
  return %y
}
)";

constexpr std::string_view kNormalization = R"(
symbols N in [1, 64]
graph normalization(%x: f32[N,32], %g: param f32[32],
                    %b: param f32[32]) -> f32[N,32] {
  %n = constant() {value = f32[] 0.03125}
  %ns = broadcast(%n) {shape = [N]}
  %0 = reduce(%x) {axes = [1]}
  %1 = mul(%0, %ns)
  %2 = broadcast(%1) {shape = [N,32], axes = [0]}
  %3 = sub(%x, %2)
  %4 = mul(%3, %3)
  %5 = reduce(%4) {axes = [1]}
  %6 = mul(%5, %ns)
  %e = constant() {value = f32[] 0.001}
  %es = broadcast(%e) {shape = [N]}
  %7 = add(%6, %es)
  %8 = rsqrt(%7)
  %9 = broadcast(%8) {shape = [N,32], axes = [0]}
  %10 = mul(%3, %9)
  %gs = broadcast(%g) {shape = [N,32], axes = [1]}
  %11 = mul(%10, %gs)
  %bs = broadcast(%b) {shape = [N,32], axes = [1]}
  %y = add(%11, %bs)
  return %y
}
)";

constexpr std::string_view kRecurrentCell = R"(
graph cell(%x: f32[4,16], %h: f32[4,16], %c: f32[4,16], %w: param f32[16,64],
           %u: param f32[16,64], %b: param f32[64]) -> (f32[4,16], f32[4,16]) {
  %0 = dot_general(%x, %w) {contract = [1]x[0]}
  %1 = dot_general(%h, %u) {contract = [1]x[0]}
  %2 = add(%0, %1)
  %3 = broadcast(%b) {shape = [4,64], axes = [1]}
  %4 = add(%2, %3)
  %5 = slice(%4) {starts = [0,0], limits = [4,16], strides = [1,1]}
  %6 = slice(%4) {starts = [0,16], limits = [4,32], strides = [1,1]}
  %7 = slice(%4) {starts = [0,32], limits = [4,48], strides = [1,1]}
  %8 = slice(%4) {starts = [0,48], limits = [4,64], strides = [1,1]}
  %i = logistic(%5)
  %f = logistic(%6)
  %o = logistic(%7)
  %g = tanh(%8)
  %9 = mul(%f, %c)
  %10 = mul(%i, %g)
  %state = add(%9, %10)
  %11 = tanh(%state)
  %out = mul(%o, %11)
  return %out, %state
}
)";

constexpr std::string_view kChannelGate = R"(
symbols N in [1, 8]
graph channels(%x: f32[N,8,5,5], %v: param f32[8,4],
               %w: param f32[4,8]) -> f32[N,8,5,5] {
  %0 = reduce(%x) {axes = [2,3]} @"pool"
  %1 = dot_general(%0, %v) {contract = [1]x[0]} @"squeeze"
  %z = constant() {value = f32[] 0}
  %zs = broadcast(%z) {shape = [N,4]}
  %2 = max(%1, %zs) @"act"
  %3 = dot_general(%2, %w) {contract = [1]x[0]} @"excite"
  %4 = logistic(%3) @"gate"
  %5 = broadcast(%4) {shape = [N,8,5,5], axes = [0,1]} @"scale"
  %y = mul(%x, %5) @"scale"
  return %y
}
)";

constexpr std::string_view kHeads = R"(
symbols N in [1, 8]
graph heads(%x: f32[N,6,16], %q: param f32[16,16], %k: param f32[16,16],
            %v: param f32[16,16], %o: param f32[16,16]) -> f32[N,6,16] {
  %0 = dot_general(%x, %q) {contract = [2]x[0]}
  %1 = dot_general(%x, %k) {contract = [2]x[0]}
  %2 = dot_general(%x, %v) {contract = [2]x[0]}
  %3 = reshape(%0) {shape = [N,6,2,8]}
  %4 = reshape(%1) {shape = [N,6,2,8]}
  %5 = reshape(%2) {shape = [N,6,2,8]}
  %6 = transpose(%3) {permutation = [0,2,1,3]}
  %7 = transpose(%4) {permutation = [0,2,1,3]}
  %8 = transpose(%5) {permutation = [0,2,1,3]}
  %9 = dot_general(%6, %7) {contract = [3]x[3], batch = [0,1]x[0,1]}
  %10 = reduce(%9) {combiner = max, axes = [3]}
  %11 = broadcast(%10) {shape = [N,2,6,6], axes = [0,1,2]}
  %12 = sub(%9, %11)
  %13 = exp(%12)
  %14 = reduce(%13) {axes = [3]}
  %15 = broadcast(%14) {shape = [N,2,6,6], axes = [0,1,2]}
  %16 = div(%13, %15)
  %17 = dot_general(%16, %8) {contract = [3]x[2], batch = [0,1]x[0,1]}
  %18 = transpose(%17) {permutation = [0,2,1,3]}
  %19 = reshape(%18) {shape = [N,6,16]}
  %y = dot_general(%19, %o) {contract = [2]x[0]}
  return %y
}
)";

constexpr std::string_view kTwoTowers = R"(
symbols N in [1, 64]
graph towers(%user: f32[N,16], %item: f32[N,16], %a: param f32[16,24],
             %b: param f32[16,24], %c: param f32[24,8],
             %d: param f32[24,8]) -> f32[N] {
  %0 = dot_general(%user, %a) {contract = [1]x[0]}
  %1 = tanh(%0)
  %2 = dot_general(%1, %c) {contract = [1]x[0]}
  %3 = dot_general(%item, %b) {contract = [1]x[0]}
  %4 = tanh(%3)
  %5 = dot_general(%4, %d) {contract = [1]x[0]}
  %6 = mul(%2, %5)
  %y = reduce(%6) {axes = [1]}
  return %y
}
)";

constexpr std::string_view kBlocks[] = {
    kResidualBlock, kAttentionBlock, kGatedLayer, kNormalization,
    kRecurrentCell, kChannelGate,    kHeads,      kTwoTowers};

}  // namespace

std::span<const std::string_view> ModelBlocks() { return kBlocks; }

}  // namespace encore::opt
