// CompileOptions: what a caller chooses about a compile. The rows are in
// options.def; command line, cache key, a package's options and key test are
// made from them.
#ifndef ENCORE_BACKENDS_OPTIONS_H_
#define ENCORE_BACKENDS_OPTIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace encore::backends {

enum class Precision : uint8_t { kF32, kTF32, kBF16, kF16 };
// Rules of opt/rules that may be used, by tag; each more than the one before.
enum class Rewrites : uint8_t { kNone, kExact, kReassociate, kFast };
// Which kernels the cpu backend may choose from for matrix products and
// convolutions: those that cost least, generated ones only, or a vendor's
// wherever it has one.
enum class CpuKernels : uint8_t { kAuto, kGenerated, kVendor };
// The same of the cuda backend: generated ones only, a library's wherever its
// interface has one, or whichever costs less.
enum class CudaKernels : uint8_t { kGenerated, kLibrary, kAll };
// How kernels are cut and laid out: by extraction over the whole graph, or
// greedily and row-major. The rewrites before it are those of `rewrites` either
// way.
enum class Optimizer : uint8_t { kEGraph, kGreedy };
// Where a compiled graph's inputs and outputs lie: in host memory, or each in
// the memory of the device whose kernel reads it first or makes it. Strings,
// sequences, optionals, and what no kernel reads or makes lie on the host in
// any case. Of use where a caller has the data on the device:
// Replayer::BindInput takes it there without a copy.
enum class Ports : uint8_t { kHost, kDevice };

// The names of all values of an enumeration, in its order.
template <typename Enum>
std::span<const std::string_view> ValueNames();
template <>
std::span<const std::string_view> ValueNames<Precision>();
template <>
std::span<const std::string_view> ValueNames<Rewrites>();
template <>
std::span<const std::string_view> ValueNames<CpuKernels>();
template <>
std::span<const std::string_view> ValueNames<CudaKernels>();
template <>
std::span<const std::string_view> ValueNames<Optimizer>();
template <>
std::span<const std::string_view> ValueNames<Ports>();

// A value's name, and the value of a name; nothing for other text.
template <typename Enum>
  requires std::is_enum_v<Enum>
std::string_view Name(Enum value) {
  return ValueNames<Enum>()[static_cast<size_t>(value)];
}
template <typename Enum>
  requires std::is_enum_v<Enum>
std::optional<Enum> ParseValue(std::string_view name) {
  const std::span<const std::string_view> names = ValueNames<Enum>();
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

struct CompileOptions {
#define ENCORE_OPTION(type, name, fallback, in_key, unused, flag, help) \
  type name = fallback;
#include "encore/backends/options.def"
#undef ENCORE_OPTION

  bool operator==(const CompileOptions&) const = default;
};

// What becomes of a value that is not the default and that no backend of the
// compile looks at.
enum class Unused : uint8_t { kRefused, kLeft };

struct OptionInfo {
  std::string_view name;
  bool in_key;
  Unused unused;
  std::string_view flag;  // "--cpu-kernels"; empty for none
  std::string_view help;
};

// The threads that `options` plan for: the cores that this process may use
// where they do not say.
int PlannedThreads(const CompileOptions& options);

// visit(const OptionInfo&, field&) for each option in the order of the table.
template <typename Options, typename Visitor>
void VisitOptions(Options& options, Visitor&& visit) {
#define ENCORE_OPTION(type, name, fallback, in_key, unused, flag, help) \
  visit(OptionInfo{#name, in_key, Unused::unused, flag, help}, options.name);
#include "encore/backends/options.def"
#undef ENCORE_OPTION
}

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_OPTIONS_H_
