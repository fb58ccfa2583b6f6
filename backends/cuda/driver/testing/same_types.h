// Types that are declared here beside those of NVIDIA's headers.
#ifndef ENCORE_BACKENDS_CUDA_DRIVER_TESTING_SAME_TYPES_H_
#define ENCORE_BACKENDS_CUDA_DRIVER_TESTING_SAME_TYPES_H_

#include <type_traits>

namespace encore::backends::cuda {

// Specialized to true for structures that are compared field by field.
template <typename Ours, typename Theirs>
inline constexpr bool kSameStructure = false;

// Whether a caller who has the one type may call a function that has the other:
// integers and enumerations of the same size, the same handles, pointers to
// such.
template <typename Ours, typename Theirs>
constexpr bool IsSame() {
  if constexpr (std::is_same_v<Ours, Theirs> || kSameStructure<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    return std::is_const_v<A> == std::is_const_v<B> &&
           IsSame<std::remove_const_t<A>, std::remove_const_t<B>>();
  } else if constexpr (std::is_enum_v<Theirs>) {
    return (std::is_enum_v<Ours> || std::is_integral_v<Ours>) &&
           sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) &&
           std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else {
    return false;
  }
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameFunction<R (*)(A...), S (*)(B...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return IsSame<R, S>() && (IsSame<A, B>() && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = Compare();
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_DRIVER_TESTING_SAME_TYPES_H_
