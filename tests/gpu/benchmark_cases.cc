#include "encore/tests/gpu/benchmark_cases.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"

namespace encore::gpu {
namespace {

// Fills in "$r", "$c" and "$t": rows, columns, dtype.
std::string Filled(std::string text, int64_t rows, int64_t columns,
                   std::string_view dtype) {
  const auto fill = [&](std::string_view name, const std::string& value) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, name.size(), value);
    }
  };
  fill("$r", StrCat(rows));
  fill("$c", StrCat(columns));
  fill("$t", std::string(dtype));
  return text;
}

std::string ProductText(int64_t m, int64_t n, int64_t k, DType dtype) {
  return StrCat("graph g(%x: ", dtype, "[", m, ",", k, "], %y: ", dtype, "[", k,
                ",", n, "]) -> ", dtype, "[", m, ",", n,
                "] {\n  %p = dot_general(%x, %y) {contract = [1]x[0]}\n"
                "  return %p\n}");
}

double FlopsOf(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

BenchmarkCase ProductCase(int64_t m, int64_t n, int64_t k, DType dtype,
                          bool tf32) {
  BenchmarkCase c;
  c.name = StrCat(m, " x ", n, " x ", k, ", ", tf32 ? "tf32" : Name(dtype));
  c.text = ProductText(m, n, k, dtype);
  c.library_text = c.text;
  if (tf32) c.precision = backends::Precision::kTF32;
  c.flops = FlopsOf(m, n, k);
  return c;
}

// A convolution of 3 x 3 beside the product of the same size.
BenchmarkCase ConvolutionCase(int64_t samples, int64_t channels, int64_t side) {
  BenchmarkCase c;
  const std::string image =
      StrCat("f16[", samples, ",", channels, ",", side, ",", side, "]");
  c.name = StrCat("convolution of ", channels, " channels, ", side, " x ", side,
                  ", f16");
  c.text = StrCat(
      "graph g(%x: ", image, ", %w: f16[", channels, ",", channels,
      ",3,3]) -> ", image,
      " {\n  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], "
      "padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}\n"
      "  return %y\n}");
  const int64_t rows = samples * side * side, depth = channels * 9;
  c.library_text = ProductText(rows, channels, depth, DType::kF16);
  c.flops = FlopsOf(rows, channels, depth);
  return c;
}

// As many rows of queries for each head, all of which see all keys.
BenchmarkCase AttentionCase(int64_t heads, int64_t rows, int64_t keys,
                            int64_t depth, DType dtype) {
  BenchmarkCase c;
  c.name = StrCat("attention of ", heads, " heads, ", rows, " x ", keys, " x ",
                  depth, ", ", Name(dtype));
  const std::string of_rows =
      StrCat(Name(dtype), "[1,", heads, ",", rows, ",", depth, "]");
  const std::string of_keys =
      StrCat(Name(dtype), "[1,", heads, ",", keys, ",", depth, "]");
  c.text = StrCat("graph g(%q: ", of_rows, ", %k: ", of_keys, ", %v: ", of_keys,
                  ") -> ", of_rows,
                  " {\n  %y = attention(%q, %k, %v) {scale = 0.125}\n"
                  "  return %y\n}");
  c.flops = 2 * FlopsOf(rows, keys, depth) * static_cast<double>(heads);
  return c;
}

}  // namespace

std::vector<BenchmarkCase> MemoryBound(int64_t elements) {
  constexpr std::string_view kTexts[][2] = {
      {"elementwise",
       "graph g(%x: $t[$r,$c], %y: $t[$r,$c]) -> $t[$r,$c] {\n"
       "  %s = add(%x, %y)\n  %r = relu(%s)\n  return %r\n}"},
      {"bias, tanh",
       "graph g(%x: $t[$r,$c], %b: $t[$c]) -> $t[$r,$c] {\n"
       "  %c = broadcast(%b) {shape = [$r,$c], axes = [1]}\n"
       "  %s = add(%x, %c)\n  %t = tanh(%s)\n  return %t\n}"},
      {"softmax",
       "graph g(%x: $t[$r,$c]) -> $t[$r,$c] {\n"
       "  %y = softmax(%x) {axis = 1}\n  return %y\n}"},
      {"layer_norm",
       "graph g(%x: $t[$r,$c], %s: $t[$c], %b: $t[$c]) -> $t[$r,$c] {\n"
       "  %y = layer_norm(%x, %s, %b) {axis = 1}\n  return %y\n}"},
      {"sum of rows",
       "graph g(%x: $t[$r,$c]) -> $t[$r] {\n"
       "  %y = reduce(%x) {axes = [1], combiner = sum}\n  return %y\n}"},
      {"sum of all",
       "graph g(%x: $t[$r,$c]) -> $t[] {\n"
       "  %y = reduce(%x) {axes = [0,1], combiner = sum}\n  return %y\n}"},
      {"transpose",
       "graph g(%x: $t[$r,$c]) -> $t[$c,$r] {\n"
       "  %y = transpose(%x) {permutation = [1,0]}\n  return %y\n}"},
  };
  const int64_t columns = std::min<int64_t>(4096, elements / 4);
  std::vector<BenchmarkCase> cases;
  for (const std::string_view dtype : {"f32", "f16"}) {
    for (const auto& [name, text] : kTexts) {
      cases.push_back(
          {StrCat(name, ", ", dtype),
           Filled(std::string(text), elements / columns, columns, dtype)});
    }
  }
  return cases;
}

std::vector<BenchmarkCase> Products(int64_t elements) {
  // As large as squares of so many elements.
  int64_t side = 64;
  while (side < 4096 && 4 * side * side <= elements) side *= 2;
  const int64_t few = std::max<int64_t>(side / 256, 16);
  std::vector<BenchmarkCase> cases;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    cases.push_back(ProductCase(side, side, side, dtype, false));
    cases.push_back(ProductCase(few, side, side, dtype, false));
    cases.push_back(ProductCase(1, side, side, dtype, false));
  }
  cases.push_back(ProductCase(side, side, side, DType::kF32, true));
  cases.push_back(side > 1000 ? ConvolutionCase(32, 256, 14)
                              : ConvolutionCase(1, 16, 6));
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const int64_t heads = side > 1000 ? 32 : 2, keys = side / 2;
    cases.push_back(AttentionCase(heads, keys, keys, 64, dtype));
    cases.push_back(AttentionCase(heads, 1, 2 * keys, 64, dtype));
  }
  return cases;
}

std::string ChainText(int kernels) {
  std::string text = "graph g(%v0: f32[8,8]) -> f32[8,8] {\n";
  for (int i = 0; i < kernels; ++i) {
    StrAppend(&text, "  %v", i + 1, " = softmax(%v", i, ") {axis = ", i % 2,
              "}\n");
  }
  return StrCat(text, "  return %v", kernels, "\n}");
}

}  // namespace encore::gpu
