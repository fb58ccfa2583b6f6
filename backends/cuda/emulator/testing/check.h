// Checks of one instruction against a function of the host, on edge values.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_CHECK_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_CHECK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {

using U16 = uint16_t;
using U32 = uint32_t;
using U64 = uint64_t;

// Runs `body` for pairs of inputs, a thread each: a in %<r>1, b in %<r>2, the
// result in %<r>3, registers `r` of the width of T. Compares bits, but any NaN
// with any.
template <typename T>
struct Registers;
template <>
struct Registers<uint32_t> {
  static constexpr std::string_view kName = "r", kType = "b32";
};
template <>
struct Registers<uint64_t> {
  static constexpr std::string_view kName = "rd", kType = "b64";
};
template <>
struct Registers<uint16_t> {
  static constexpr std::string_view kName = "rs", kType = "b16";
};
template <>
struct Registers<float> {
  static constexpr std::string_view kName = "f", kType = "f32";
};
template <>
struct Registers<double> {
  static constexpr std::string_view kName = "d", kType = "f64";
};

template <typename T>
bool Same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  }
  return a == b;
}

template <typename Out, typename In>
std::vector<Out> Results(std::string_view body, const std::vector<In>& inputs,
                         uint64_t seed = 0) {
  using I = Registers<In>;
  using O = Registers<Out>;
  // Registers of addresses are apart from those that tests use.
  const std::string text =
      StrCat("mul.wide.u32 %rd50, %r0, ", 2 * sizeof(In),
             ";\nadd.s64 %rd50, %rd1, %rd50;\n", "mul.wide.u32 %rd51, %r0, ",
             sizeof(Out), ";\nadd.s64 %rd51, %rd2, %rd51;\n", "ld.global.",
             I::kType, " %", I::kName, "11, [%rd50];\n", "ld.global.", I::kType,
             " %", I::kName, "12, [%rd50+", sizeof(In), "];\n", body,
             "\nst.global.", O::kType, " [%rd51], %", O::kName, "13;\n");
  TestDevice device(ModuleOf(text));
  device.options().seed = seed;
  const auto count = static_cast<uint32_t>(inputs.size() / 2);
  const Buffer in = device.Add(inputs);
  const Buffer out = device.Add(std::vector<Out>(count));
  const uint32_t threads = std::min(count, 512u);
  EXPECT_EQ(count % threads, 0u);
  EXPECT_EQ(count, threads) << "too many inputs";
  const Status status = device.Run("test", {1, 1, 1}, {threads, 1, 1}, in, out);
  EXPECT_TRUE(status.ok()) << status << "\n" << body;
  return device.Get<Out>(out);
}

template <typename T>
std::vector<T> Edges() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {T{0},
            -T{0},
            T{1},
            T{-1},
            T{1.5},
            T{-2.5},
            L::max(),
            L::lowest(),
            L::min(),
            L::denorm_min(),
            -L::denorm_min(),
            L::infinity(),
            -L::infinity(),
            L::quiet_NaN(),
            T{3.1415926},
            T{-1e-7},
            T{16777215},
            T{1} / 3};
  } else {
    return {0,
            1,
            2,
            3,
            7,
            31,
            32,
            63,
            64,
            100,
            L::max(),
            static_cast<T>(L::max() - 1),
            static_cast<T>(L::max() / 2),
            static_cast<T>(L::max() / 2 + 1),
            static_cast<T>(0xdeadbeefcafef00d),
            static_cast<T>(0x0123456789abcdef)};
  }
}

// All pairs.
template <typename T>
std::vector<T> Pairs() {
  std::vector<T> pairs;
  for (const T a : Edges<T>()) {
    for (const T b : Edges<T>()) pairs.insert(pairs.end(), {a, b});
  }
  return pairs;
}

// `op` once, in which $ stands for the registers: "add.s32 $3, $1, $2;".
template <typename Out, typename In>
void Check(std::string_view op, const std::function<Out(In, In)>& expected) {
  std::string body;
  for (size_t i = 0; i < op.size(); ++i) {
    if (op[i] != '$') {
      body += op[i];
      continue;
    }
    const bool is_out = op[i + 1] == '3';
    StrAppend(&body, "%", is_out ? Registers<Out>::kName : Registers<In>::kName,
              "1");
  }
  const std::vector<In> inputs = Pairs<In>();
  const std::vector<Out> found = Results<Out, In>(body, inputs);
  for (size_t i = 0; i < found.size(); ++i) {
    const In a = inputs[2 * i], b = inputs[2 * i + 1];
    ASSERT_TRUE(Same(found[i], expected(a, b)))
        << op << " of " << +a << " and " << +b << " gives " << +found[i]
        << ", expected " << +expected(a, b);
  }
}

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_TESTING_CHECK_H_
