// CompileOptions: what a caller chooses about a compile. The rows are in
// options.def; command line, cache key and key test are made from them.
#ifndef ENCORE_BACKENDS_OPTIONS_H_
#define ENCORE_BACKENDS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace encore::backends {

enum class Precision : uint8_t { kF32, kTF32, kBF16, kF16 };
enum class Rewrites : uint8_t { kExact, kReassociate, kFast };
// Which kernels the cpu backend may choose from for matrix products and
// convolutions: those that cost least, generated ones only, or a vendor's
// wherever it has one.
enum class CpuKernels : uint8_t { kAuto, kGenerated, kVendor };

std::string_view Name(Precision precision);
std::string_view Name(Rewrites rewrites);
std::string_view Name(CpuKernels kernels);
std::optional<Precision> ParsePrecision(std::string_view text);
std::optional<Rewrites> ParseRewrites(std::string_view text);
std::optional<CpuKernels> ParseCpuKernels(std::string_view text);

struct CompileOptions {
#define ENCORE_OPTION(type, name, fallback, in_key, help) type name = fallback;
#include "encore/backends/options.def"
#undef ENCORE_OPTION

  bool operator==(const CompileOptions&) const = default;
};

struct OptionInfo {
  std::string_view name;
  bool in_key;
  std::string_view help;
};

// visit(const OptionInfo&, field&) for each option in the order of the table.
template <typename Options, typename Visitor>
void VisitOptions(Options& options, Visitor&& visit) {
#define ENCORE_OPTION(type, name, fallback, in_key, help) \
  visit(OptionInfo{#name, in_key, help}, options.name);
#include "encore/backends/options.def"
#undef ENCORE_OPTION
}

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_OPTIONS_H_
