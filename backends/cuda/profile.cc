#include "encore/backends/cuda/profile.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/target_text.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "nlohmann/json.hpp"

namespace encore::backends::cuda {
namespace {

constexpr double kLaunchSeconds = 2.5e-6;
// A function such as exp counts as so many operations.
constexpr double kFunctionOperations = 16;

// A file beyond this is no profile.
constexpr size_t kMostFileBytes = 1 << 16;
constexpr size_t kMostNameBytes = 64;

// The columns of profiles.def, as they stand there.
struct ProfileRow {
  std::string name;
  Architecture architecture;
  std::array<int64_t, 8> values;
};

constexpr std::array<std::string_view, 8> kFields = {
    "multiprocessors", "memory_bytes", "l2_bytes", "shared_bytes",
    "clock_khz",       "memory_khz",   "bus_bits", "lanes"};
// The largest values, past what any device has; the least is 1.
constexpr std::array<int64_t, 8> kMost = {
    100'000,     int64_t{1} << 50, int64_t{1} << 40, int64_t{1} << 30,
    100'000'000, 1'000'000'000,    1'000'000,        4096};

DeviceProfile FromRow(ProfileRow row) {
  const auto& [multiprocessors, memory, l2, shared, clock_khz, memory_khz,
               bus_bits, lanes] = row.values;
  DeviceProfile profile;
  profile.name = std::move(row.name);
  profile.architecture = row.architecture;
  profile.multiprocessors = static_cast<int32_t>(multiprocessors);
  profile.memory_bytes = memory;
  profile.l2_bytes = l2;
  profile.shared_bytes = shared;
  profile.clock = static_cast<double>(clock_khz) * 1e3;
  // Twice a cycle.
  profile.bandwidth = static_cast<double>(memory_khz) * 1e3 * 2 *
                      static_cast<double>(bus_bits) / 8;
  profile.lanes = static_cast<int32_t>(lanes);
  return profile;
}

std::vector<DeviceProfile> Committed() {
  std::vector<DeviceProfile> profiles;
#define ENCORE_PROFILE(name, major, minor, specific, ...) \
  profiles.push_back(FromRow({#name, {major, minor, specific}, {__VA_ARGS__}}));
#include "encore/backends/cuda/profiles.def"
#undef ENCORE_PROFILE
  return profiles;
}

// Names those that there are.
Status UnknownArchitecture(std::string_view name) {
  return InvalidArgumentError(
      StrCat(Quote(name), " is no architecture that kernels can be compiled ",
             "for; there are: ",
             StrJoin(KnownArchitectures(), ", ",
                     [](std::string* out, const Architecture& architecture) {
                       StrAppend(out, Name(architecture));
                     })));
}

StatusOr<Architecture> KnownArchitecture(std::string_view name) {
  const auto architecture = ParseArchitecture(name);
  if (!architecture || std::ranges::find(KnownArchitectures(), *architecture) ==
                           KnownArchitectures().end()) {
    return UnknownArchitecture(name);
  }
  return *architecture;
}

StatusOr<std::string> TextField(const nlohmann::json& file,
                                std::string_view name) {
  const auto at = file.find(name);
  if (at == file.end() || !at->is_string()) {
    return InvalidArgumentError(StrCat("field ", name, ": expected a text"));
  }
  std::string text = at->get<std::string>();
  if (text.empty() || text.size() > kMostNameBytes) {
    return InvalidArgumentError(
        StrCat("field ", name, ": expected 1 to ", kMostNameBytes, " bytes"));
  }
  return text;
}

StatusOr<int64_t> NumberField(const nlohmann::json& file, std::string_view name,
                              int64_t most) {
  const auto at = file.find(name);
  const bool is_number = at != file.end() && at->is_number_unsigned();
  if (!is_number || at->get<uint64_t>() < 1 ||
      at->get<uint64_t>() > static_cast<uint64_t>(most)) {
    return InvalidArgumentError(
        StrCat("field ", name, ": expected a whole number from 1 to ", most));
  }
  return static_cast<int64_t>(at->get<uint64_t>());
}

StatusOr<DeviceProfile> ReadProfile(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const auto bytes = file->bytes();
  if (bytes.size() > kMostFileBytes) {
    return InvalidArgumentError(
        StrCat(path, " has ", bytes.size(),
               " bytes; a device's profile has at most ", kMostFileBytes));
  }
  auto profile =
      ParseProfile({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (profile.ok()) return profile;
  return Annotate(profile.status(), StrCat("device profile ", path));
}

// Files by path, as they were when first asked for.
StatusOr<DeviceProfile> RememberedProfile(const std::string& path) {
  static auto* const mutex = new std::mutex;
  static auto* const known = new std::map<std::string, StatusOr<DeviceProfile>>;
  const std::lock_guard lock(*mutex);
  const auto at = known->find(path);
  if (at != known->end()) return at->second;
  return known->emplace(path, ReadProfile(path)).first->second;
}

// The one of the highest architecture that is not above; the first where all
// are.
const DeviceProfile& Nearest(const Architecture& architecture) {
  const DeviceProfile* nearest = &AllProfiles()[0];
  for (const DeviceProfile& profile : AllProfiles()) {
    const uint32_t number = profile.architecture.number();
    if (number <= architecture.number() &&
        number > nearest->architecture.number()) {
      nearest = &profile;
    }
  }
  return *nearest;
}

}  // namespace

std::string DeviceProfile::ToString() const {
  return StrCat(name, " ", Name(architecture), " ", multiprocessors, " ",
                memory_bytes, " ", l2_bytes, " ", shared_bytes, " ", clock, " ",
                bandwidth, " ", lanes);
}

std::span<const DeviceProfile> AllProfiles() {
  static const auto* const profiles =
      new std::vector<DeviceProfile>(Committed());
  return *profiles;
}

StatusOr<DeviceProfile> ParseProfile(std::string_view json) {
  const auto file = nlohmann::json::parse(json, nullptr, false);
  if (!file.is_object()) {
    return InvalidArgumentError("expected a JSON object");
  }
  ProfileRow row;
  ENCORE_ASSIGN_OR_RETURN(row.name, TextField(file, "name"));
  ENCORE_ASSIGN_OR_RETURN(const std::string architecture,
                          TextField(file, "architecture"));
  ENCORE_ASSIGN_OR_RETURN(row.architecture, KnownArchitecture(architecture));
  for (size_t i = 0; i < kFields.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(row.values[i],
                            NumberField(file, kFields[i], kMost[i]));
  }
  for (const auto& [name, value] : file.items()) {
    if (name == "name" || name == "architecture") continue;
    if (std::ranges::find(kFields, name) != kFields.end()) continue;
    return InvalidArgumentError(StrCat("field ", Quote(name),
                                       ": expected only name, architecture, ",
                                       StrJoin(kFields, ", ")));
  }
  return FromRow(std::move(row));
}

StatusOr<DeviceProfile> FindProfile(std::string_view variant) {
  const auto committed =
      std::ranges::find(AllProfiles(), variant, &DeviceProfile::name);
  if (committed != AllProfiles().end()) return *committed;
  if (variant.starts_with("sm_")) {
    ENCORE_ASSIGN_OR_RETURN(const Architecture architecture,
                            KnownArchitecture(variant));
    DeviceProfile profile = Nearest(architecture);
    profile.architecture = architecture;
    return profile;
  }
  if (variant.ends_with(".json")) {
    return RememberedProfile(std::string(variant));
  }
  return NotFoundError(StrCat("no device is known as ", Quote(variant)));
}

DeviceProfile ProfileOf(const CompileOptions& options) {
  return FindProfile(VariantOf(options, "cuda")).value_or(AllProfiles()[0]);
}

double LaunchSeconds(const DeviceProfile& profile, const Work& work) {
  const double operations =
      work.flops + work.transcendentals * (kFunctionOperations - 1);
  const double rate = profile.clock * profile.multiprocessors * profile.lanes;
  const double bytes = work.read_bytes + work.written_bytes;
  return kLaunchSeconds +
         std::max(bytes / profile.bandwidth, operations / rate);
}

}  // namespace encore::backends::cuda
