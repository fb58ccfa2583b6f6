// Registers as values of C++ types, and instructions from functions of them.
//
//   uint32_t And(uint32_t a, uint32_t b);
//   Handler handler = &Map<And>;          // d, a, b
//
// A function may take a `const LaneContext&` first.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_BITS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_BITS_H_

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/warp.h"

namespace encore::ptx {

// Formats that C++ has no type for, and predicates.
struct F16 {
  uint16_t bits = 0;
};
struct BF16 {
  uint16_t bits = 0;
};

template <typename T>
T FromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return T{static_cast<uint16_t>(bits)};
  }
}

template <typename T>
uint64_t ToBits(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<T>>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return value.bits;
  }
}

// What a function of one lane may look at beside its operands.
struct LaneContext {
  const Instruction& instruction;
  const LaunchOptions& options;
};

namespace internal {

template <auto kFunction, typename R, typename... A, size_t... kIndex>
void MapLanes(Warp& warp, const Instruction& i, uint32_t mask, R (*)(A...),
              std::index_sequence<kIndex...>) {
  const std::array<const uint64_t*, sizeof...(A)> in = {
      warp.Source(i, 1 + kIndex)...};
  uint64_t* out = warp.Destination(i, 0);
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = ToBits<R>(kFunction(FromBits<A>(in[kIndex][lane])...));
  });
}

template <auto kFunction, typename R, typename... A, size_t... kIndex>
void MapLanesWith(Warp& warp, const Instruction& i, uint32_t mask,
                  R (*)(const LaneContext&, A...),
                  std::index_sequence<kIndex...>) {
  const std::array<const uint64_t*, sizeof...(A)> in = {
      warp.Source(i, 1 + kIndex)...};
  uint64_t* out = warp.Destination(i, 0);
  const LaneContext context{i, warp.launch->options};
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = ToBits<R>(kFunction(context, FromBits<A>(in[kIndex][lane])...));
  });
}

template <typename F>
struct Arguments;
template <typename R, typename... A>
struct Arguments<R (*)(A...)> {
  static constexpr bool kWithContext = false;
  using Indices = std::index_sequence_for<A...>;
};
template <typename R, typename... A>
struct Arguments<R (*)(const LaneContext&, A...)> {
  static constexpr bool kWithContext = true;
  using Indices = std::index_sequence_for<A...>;
};

}  // namespace internal

// Operand 0 of each lane becomes the function of operands 1 and on.
template <auto kFunction>
void Map(Warp& warp, const Instruction& i, uint32_t mask) {
  using Traits = internal::Arguments<decltype(kFunction)>;
  if constexpr (Traits::kWithContext) {
    internal::MapLanesWith<kFunction>(warp, i, mask, kFunction,
                                      typename Traits::Indices());
  } else {
    internal::MapLanes<kFunction>(warp, i, mask, kFunction,
                                  typename Traits::Indices());
  }
}

// `visit` with a value of the C++ type of an integer or bit type of 16 to 64
// bits; its result, or null for another type.
template <typename Visit>
Handler VisitInteger(Type type, Visit visit) {
  switch (type) {
    case Type::kU16:
    case Type::kB16:
      return visit(uint16_t{});
    case Type::kS16:
      return visit(int16_t{});
    case Type::kU32:
    case Type::kB32:
      return visit(uint32_t{});
    case Type::kS32:
      return visit(int32_t{});
    case Type::kU64:
    case Type::kB64:
      return visit(uint64_t{});
    case Type::kS64:
      return visit(int64_t{});
    default:
      return nullptr;
  }
}

inline bool IsBits(Type type) { return KindOf(type) == TypeKind::kBits; }
inline bool IsInteger(Type type) {
  return KindOf(type) == TypeKind::kUnsigned ||
         KindOf(type) == TypeKind::kSigned;
}

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_BITS_H_
